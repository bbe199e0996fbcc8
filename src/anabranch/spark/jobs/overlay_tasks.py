"""Layers of an image as tasks lay them over each other: each task a share of the image's paths.

A share is all that lies between two paths of the image, which of every layer is another part of
its source's keys. Ranges that are in it whole are reused, those at its ends are cut.
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
from anabranch.model.names import MAX_PATH_BYTES
from anabranch.pipelines.images.layers import exclusion_filter
from anabranch.spark.planning.partition_planning import Range, Ranges
from anabranch.spark.sources.table_files import TableFiles, WritableTables
from anabranch.versioning.records.entries import unreadable
from anabranch.versioning.trees import translate_errors
from anabranch.work_folders import WorkFolder

__all__ = ["TOLD", "Piece", "Share", "SharedLayer", "Work", "shares"]

TOLD = (
    "share BIGINT, range STRING, min_key BINARY, max_key BINARY, entries BIGINT, size BIGINT, "
    "layer BIGINT, found BIGINT, left_out BIGINT, shadowed BIGINT, shadowed_keys ARRAY<BINARY>, "
    "unfit BIGINT, unfit_keys ARRAY<BINARY>, bytes BIGINT, shadowed_bytes BIGINT"
)
"""What a task tells, for Spark: a row for each range that it wrote, and for each layer."""

_NUMBERS = ("share", "entries", "size", "layer", "found", "left_out", "shadowed", "unfit", "bytes")
_TOLD = pa.schema(
    [
        *((name, pa.int64()) for name in (*_NUMBERS, "shadowed_bytes")),
        ("range", pa.string()),
        *((name, pa.binary()) for name in ("min_key", "max_key")),
        *((name, pa.list_(pa.binary())) for name in ("shadowed_keys", "unfit_keys")),
    ]
)
_ORDER = [column.split()[0] for column in TOLD.split(", ")]


class SharedLayer(NamedTuple):
    """A layer, as `kernel.Layer` has it, but for its tree, which is in `tables`."""

    tables: TableFiles
    prefix: bytes
    target: bytes
    single: bool
    namespace: str
    exclude: tuple[str, ...]

    def bounds(self, key: bytes) -> tuple[bool, bytes | None]:
        """Returns whether a path of the image comes before all of the layer's, and, if it is in
        their midst, the source's key that it stands for.
        """
        if key.startswith(self.target):
            return False, self.prefix + key[len(self.target) :]
        return key < self.target, None


class Piece(NamedTuple):
    """Of the layer with this number, the entries in `ranges` whose key is above `after` and at
    most `upto`; None is no bound.
    """

    layer: int
    ranges: Ranges
    after: bytes | None
    upto: bytes | None

    def is_whole(self, found: Range) -> bool:
        """Returns whether a range has nothing but such entries."""
        begins = self.after is None or found.min_key > self.after
        return begins and (self.upto is None or found.max_key <= self.upto)


Share = Sequence[Piece]
"""What one task lays over each other."""


def shares(layers: Sequence[tuple[SharedLayer, Ranges]], entries: int) -> list[Share]:
    """Returns the shares of about so many entries each, in the order of the image's paths."""
    ends = [None, *_cuts(layers, entries), None]
    found = [
        [
            piece
            for number, (layer, ranges) in enumerate(layers)
            if (piece := _piece(number, layer, ranges, low, high)) is not None
        ]
        for low, high in pairwise(ends)
    ]
    return [share for share in found if share]


def _cuts(layers: Iterable[tuple[SharedLayer, Ranges]], entries: int) -> list[bytes]:
    """Returns paths of the image, about so many entries apart: ends of ranges."""
    ends = sorted(
        (layer.target + found.max_key[len(layer.prefix) :], found.entries)
        for layer, ranges in layers
        for found in ranges
        if found.max_key.startswith(layer.prefix)
    )
    cuts: list[bytes] = []
    held = 0
    for key, number in ends:
        held += number
        if held >= entries and (not cuts or key > cuts[-1]):
            cuts.append(key)
            held = 0
    return cuts


def _piece(
    number: int, layer: SharedLayer, ranges: Ranges, low: bytes | None, high: bytes | None
) -> Piece | None:
    """Returns what lies of a layer above one path of the image and up to another, None for
    nothing.
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
    piece = Piece(number, (), after, upto)
    inside = [
        found
        for found in ranges
        if (after is None or found.max_key > after) and (upto is None or found.min_key <= upto)
    ]
    return piece._replace(ranges=inside) if inside else None


class Work(NamedTuple):
    """What tasks do, given numbered shares; it can be pickled."""

    layers: Sequence[SharedLayer]
    target: WritableTables

    def lay(self, numbered: tuple[int, Share]) -> Iterator[pa.RecordBatch]:
        """Writes the ranges of a share and tells of them, and of what was met in each layer."""
        number, share = numbered
        counts: list[kernel.LayerCounts] = []
        with ExitStack() as stack:
            layers = [stack.enter_context(self._opened(piece)) for piece in share]
            try:
                with translate_errors():
                    made = self.target.write_ranges(_writing(layers, counts))
            except kernel.KernelError as error:
                raise unreadable(error) from error
        rows: list[dict[str, Any]] = [
            {
                "range": found.id,
                "min_key": found.min_key,
                "max_key": found.max_key,
                "entries": found.count,
                "size": found.estimated_size,
            }
            for found in made
        ]
        rows += [
            {
                "layer": piece.layer,
                "found": met.found,
                "left_out": met.left_out,
                "shadowed": met.shadowed,
                "shadowed_keys": met.shadowed_keys,
                "unfit": met.unfit,
                "unfit_keys": met.unfit_keys,
                "bytes": met.size,
                "shadowed_bytes": met.shadowed_size,
            }
            for piece, met in zip(share, counts, strict=True)
        ]
        told = pa.RecordBatch.from_pylist([{"share": number, **row} for row in rows], schema=_TOLD)
        yield told.select(_ORDER)

    @contextmanager
    def _opened(self, piece: Piece) -> Iterator[kernel.Layer]:
        layer = self.layers[piece.layer]
        with (
            WorkFolder("spark") as folder,
            layer.tables.locator() as locate,
            translate_errors(),
        ):

            def path(table_id: str) -> str:
                own = f"{folder}/{table_id}"
                return own if Path(own).exists() else locate(table_id)

            def tree(ranges: Iterable[kernel.RangeInfo]) -> kernel.Tree:
                metarange_id = kernel.write_metarange(list(ranges), folder)
                return kernel.Tables().tree(metarange_id, path)

            ranges: list[kernel.RangeInfo] = []
            for found in piece.ranges:
                info = kernel.RangeInfo(*found)
                if piece.is_whole(found):
                    ranges.append(info)
                else:
                    ranges += kernel.write_ranges_arrow(_cut(tree([info]), piece), folder)
            yield kernel.Layer(
                tree(ranges),
                prefix=layer.prefix,
                target=layer.target,
                single=layer.single,
                namespace=layer.namespace,
                leave_out=exclusion_filter(layer.exclude),
            )


def _cut(tree: kernel.Tree, piece: Piece) -> pa.RecordBatchReader:
    """Returns the records of a tree that are in a piece."""
    reader = pa.RecordBatchReader.from_stream(tree.scan(after=piece.after or b"", decoded=False))

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in reader:
            if piece.upto is None:
                yield batch
            else:
                keys = batch.column("key")
                yield batch.filter(pc.less_equal(keys, pa.scalar(piece.upto, keys.type)))

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _writing(
    layers: Sequence[kernel.Layer], counts: list[kernel.LayerCounts]
) -> Callable[[str], Sequence[kernel.RangeInfo]]:
    """Returns what writes the ranges of layers into a folder. The metarange of a share is none of
    the image's, so they are laid elsewhere first.
    """

    def write(folder: str) -> Sequence[kernel.RangeInfo]:
        with WorkFolder("spark") as own:
            written, met = kernel.write_layers(layers, own, longest_key=MAX_PATH_BYTES)
            counts.extend(met)
            if not written.count:
                return []
            tree = kernel.Tables().tree(written.metarange_id, lambda each: f"{own}/{each}")
            return kernel.write_ranges_arrow(tree.scan(decoded=False), folder)

    return write
