"""The tasks of an image build on Spark. Each writes the overlay of all layers for an interval of
the image's paths.

Each layer maps keys of its source to paths of the image, so an interval of paths corresponds to an
interval of keys in every layer. Ranges that are completely within the interval are reused; ranges
at its ends are rewritten with only the entries inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.files.work_folders import WorkFolder
from anabranch.model.names import MAX_PATH_BYTES
from anabranch.pipelines.images.layers import exclusion_filter
from anabranch.spark.planning.partition_planning import Range, Ranges
from anabranch.spark.sources.table_files import TableFiles, WritableTables
from anabranch.versioning.records.entries import unreadable
from anabranch.versioning.trees.trees import translate_errors

__all__ = [
    "RESULT",
    "LayerSlice",
    "OverlayPartition",
    "OverlayTasks",
    "TaskLayer",
    "partition_overlay",
]

_COUNTS = ("found", "skipped", "shadowed", "invalid", "bytes", "shadowed_bytes")
RESULT = pa.schema(
    [
        *((name, pa.int64()) for name in ("task", "entries", "size", "layer", *_COUNTS)),
        ("range", pa.string()),
        *((name, pa.binary()) for name in ("min_key", "max_key")),
        *((name, pa.list_(pa.binary())) for name in ("shadowed_keys", "invalid_keys")),
    ]
)
"""The result of a task: a row for each range that it wrote, and one for each layer."""


class TaskLayer(NamedTuple):
    """The fields of a `kernel.Layer`, with the tables of its tree instead of the tree."""

    tables: TableFiles
    prefix: bytes
    target: bytes
    single: bool
    namespace: str
    exclude: tuple[str, ...]

    def bounds(self, key: bytes) -> tuple[bool, bytes | None]:
        """Returns whether a path of the image sorts before all paths of the layer, and, if it is
        under the layer's target, the key of the source that is mapped to it.
        """
        if key.startswith(self.target):
            return False, self.prefix + key[len(self.target) :]
        return key < self.target, None


class LayerSlice(NamedTuple):
    """The entries of `ranges` whose keys are greater than `after` and at most `upto`, of the layer
    with the index `layer`. None means no bound.
    """

    layer: int
    ranges: Ranges
    after: bytes | None
    upto: bytes | None

    def contains(self, candidate: Range) -> bool:
        """Returns whether all entries of a range are within the bounds."""
        is_after = self.after is None or candidate.min_key > self.after
        return is_after and (self.upto is None or candidate.max_key <= self.upto)


OverlayPartition = Sequence[LayerSlice]
"""The slices of all layers for one task."""


def partition_overlay(
    layers: Sequence[tuple[TaskLayer, Ranges]], entries: int
) -> list[OverlayPartition]:
    """Returns partitions of about `entries` entries each, in the order of the image's paths."""
    boundaries = [None, *_boundaries(layers, entries), None]
    partitions = [
        [
            part
            for number, (layer, ranges) in enumerate(layers)
            if (part := _layer_slice(number, layer, ranges, low, high)) is not None
        ]
        for low, high in pairwise(boundaries)
    ]
    return [partition for partition in partitions if partition]


def _boundaries(layers: Iterable[tuple[TaskLayer, Ranges]], entries: int) -> list[bytes]:
    """Returns the paths of the image at which partitions end: ends of ranges, about `entries`
    entries apart.
    """
    range_ends = sorted(
        (layer.target + each.max_key[len(layer.prefix) :], each.entries)
        for layer, ranges in layers
        for each in ranges
        if each.max_key.startswith(layer.prefix)
    )
    boundaries: list[bytes] = []
    total = 0
    for path, number in range_ends:
        total += number
        if total >= entries and (not boundaries or path > boundaries[-1]):
            boundaries.append(path)
            total = 0
    return boundaries


def _layer_slice(
    number: int, layer: TaskLayer, ranges: Ranges, low: bytes | None, high: bytes | None
) -> LayerSlice | None:
    """Returns the slice of a layer between two paths of the image, `low` exclusive and `high`
    inclusive, or None if no range is in it.
    """
    after = upto = None
    if low is not None:
        is_before, after = layer.bounds(low)
        if not is_before and after is None:
            return None
    if high is not None:
        is_before, upto = layer.bounds(high)
        if is_before:
            return None
    overlapping = [
        each
        for each in ranges
        if (after is None or each.max_key > after) and (upto is None or each.min_key <= upto)
    ]
    return LayerSlice(number, overlapping, after, upto) if overlapping else None


class OverlayTasks(NamedTuple):
    """The work of the tasks of an image build; it can be pickled."""

    layers: Sequence[TaskLayer]
    target: WritableTables

    def write(self, numbered: tuple[int, OverlayPartition]) -> Iterator[pa.RecordBatch]:
        """Writes the ranges of a partition. Yields the ranges and the counts of each layer."""
        task, partition = numbered
        counts: list[kernel.LayerCounts] = []
        with ExitStack() as stack:
            layers = [stack.enter_context(self._open(part)) for part in partition]
            try:
                with translate_errors():
                    written = self.target.write_ranges(_range_writer(layers, counts))
            except kernel.KernelError as error:
                raise unreadable(error) from error
        rows: list[dict[str, Any]] = [
            {
                "range": info.id,
                "min_key": info.min_key,
                "max_key": info.max_key,
                "entries": info.count,
                "size": info.estimated_size,
            }
            for info in written
        ]
        rows += [
            {
                "layer": part.layer,
                "found": count.found,
                "skipped": count.skipped,
                "shadowed": count.shadowed,
                "shadowed_keys": count.shadowed_keys,
                "invalid": count.invalid,
                "invalid_keys": count.invalid_keys,
                "bytes": count.size,
                "shadowed_bytes": count.shadowed_size,
            }
            for part, count in zip(partition, counts, strict=True)
        ]
        rows = [{"task": task, **row} for row in rows]
        yield pa.RecordBatch.from_pylist(rows, schema=RESULT)

    @contextmanager
    def _open(self, part: LayerSlice) -> Iterator[kernel.Layer]:
        layer = self.layers[part.layer]
        with (
            WorkFolder("spark") as folder,
            layer.tables.locator() as locate,
            translate_errors(),
        ):

            def path(table_id: str) -> str:
                temporary = f"{folder}/{table_id}"
                return temporary if Path(temporary).exists() else locate(table_id)

            def tree(ranges: Iterable[kernel.RangeInfo]) -> kernel.Tree:
                metarange_id = kernel.write_metarange(list(ranges), folder)
                return kernel.Tables().tree(metarange_id, path)

            ranges: list[kernel.RangeInfo] = []
            for each in part.ranges:
                info = kernel.RangeInfo(*each)
                if part.contains(each):
                    ranges.append(info)
                else:
                    inside = _records_within(tree([info]), part)
                    ranges += kernel.write_ranges_arrow(inside, folder)
            yield kernel.Layer(
                tree(ranges),
                prefix=layer.prefix,
                target=layer.target,
                single=layer.single,
                namespace=layer.namespace,
                leave_out=exclusion_filter(layer.exclude),
            )


def _records_within(tree: kernel.Tree, part: LayerSlice) -> pa.RecordBatchReader:
    """Returns the records of a tree whose keys are within the bounds of a slice."""
    reader = pa.RecordBatchReader.from_stream(tree.scan(after=part.after or b"", decoded=False))

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            if part.upto is None:
                yield batch
            else:
                keys = batch.column("key")
                yield batch.filter(pc.less_equal(keys, pa.scalar(part.upto, keys.type)))

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _range_writer(
    layers: Sequence[kernel.Layer], counts: list[kernel.LayerCounts]
) -> Callable[[str], Sequence[kernel.RangeInfo]]:
    """Returns a function that writes the ranges of the overlay to a folder and adds to `counts`.
    The overlay is first written to a temporary folder, because the metarange of a partition must
    not become a table of the repository.
    """

    def write(folder: str) -> Sequence[kernel.RangeInfo]:
        with WorkFolder("spark") as temporary:
            written, new_counts = kernel.write_layers(layers, temporary, longest_key=MAX_PATH_BYTES)
            counts.extend(new_counts)
            if not written.count:
                return []
            tree = kernel.Tables().tree(written.metarange_id, lambda each: f"{temporary}/{each}")
            return kernel.write_ranges_arrow(tree.scan(decoded=False), folder)

    return write
