"""External sort of listings by path, in bounded memory.

A small listing is sorted in memory. A larger one is partitioned: a sample of the first rows
determines the paths that separate the partitions, each row is written to the file of its partition,
and the partitions are sorted one after another, the next one while the previous one is read. A
partition that is too large, like the last one if rows arrive in order, is partitioned again by a
sample of its own rows. Partitions are small: rows that fit into the processor's cache are sorted in
half the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import accumulate, chain
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.pipelines.imports.listings.row_validation import LISTED, ORDER
from anabranch.pipelines.jobs.parallel_map import parallel_map

__all__ = ["DEFAULT_BUDGET", "SortBudget", "sort_listing"]

_BATCH = 65_536
_SPLIT_THREADS = 2
_MAX_FILES, _BUDGET_FRACTION = 256, 8
"""Partitions have an eighth of the budget, unless that needs more than 256 files."""

_FIRST_PARTITIONS = 64
"""The number of partitions while the number of rows is unknown."""


class SortBudget(msgspec.Struct, frozen=True):
    """The maximum numbers of rows and bytes that are sorted at once; memory use is about four times
    as much. One in `sampled` rows is in the sample.
    """

    rows: int = 2_000_000
    bytes: int = 384 << 20
    sampled: int = 512

    def fits(self, rows: int, size: int) -> bool:
        """Returns whether rows of `size` bytes in total can be sorted at once."""
        return rows <= self.rows and size <= self.bytes

    def partitions(self, rows: int, size: int) -> int:
        """Returns the number of partitions for rows of `size` bytes in total."""
        needed = max(rows // self.rows, size // self.bytes) + 1
        return max(needed, min(_MAX_FILES, needed * _BUDGET_FRACTION))


DEFAULT_BUDGET = SortBudget()


def sort_listing(
    batches: Iterable[pa.RecordBatch], folder: Path, budget: SortBudget = DEFAULT_BUDGET
) -> Iterator[pa.RecordBatch]:
    """Yields batches of LISTED in ORDER; the sort is stable. Files are written into `folder`, which
    must exist. All rows with the same path are held in memory at once.
    """
    remaining = iter(batches)
    buffered: deque[pa.RecordBatch] = deque()
    rows = size = 0
    for batch in remaining:
        buffered.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if not budget.fits(rows, size):
            break
    else:
        yield from _sort(pa.Table.from_batches(buffered, schema=LISTED))
        return
    sample = _Sample(budget.sampled)
    for batch in buffered:
        sample.add(batch)
    partitions = _partition_rows(
        chain(_drain(buffered), remaining),
        folder / "partition",
        sample.boundaries(_FIRST_PARTITIONS),
        budget,
    )
    files = (path for partition in partitions for path in partition.split(budget))
    for sorted_batches in parallel_map(_sort_file, files, threads=1, ahead=1):
        yield from sorted_batches


class _Sample:
    """The path of every `sampled`-th row."""

    def __init__(self, sampled: int) -> None:
        self._sampled = sampled
        self._paths: list[pa.Array] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        # continues the count of the previous batches
        rows = pa.array(range(-self._rows % self._sampled, batch.num_rows, self._sampled))
        if len(rows):
            self._paths.append(batch.column("path").take(rows.cast(pa.int64())))
        self._rows += batch.num_rows

    def boundaries(self, partitions: int) -> pa.Array:
        """Returns the paths that divide the sample into `partitions` parts, or fewer."""
        paths = pa.chunked_array(self._paths, pa.string()).drop_null()
        paths = paths.take(pc.sort_indices(paths)).combine_chunks()
        indices = {
            number * len(paths) // partitions for number in range(1, partitions) if len(paths)
        }
        return pc.unique(paths.take(pa.array(sorted(indices), pa.int64())))


class _Partition:
    """A file of rows between two paths."""

    def __init__(self, path: Path, sampled: int) -> None:
        self.path = path
        self._sample = _Sample(sampled)
        self.rows = self._size = 0

    @contextmanager
    def open(self) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """Opens the file, and provides a function that appends rows."""
        with pa.OSFile(str(self.path), "wb") as file, pa.ipc.new_file(file, LISTED) as writer:

            def write(batch: pa.RecordBatch) -> None:
                writer.write_batch(batch)
                self._sample.add(batch)
                self.rows += batch.num_rows
                self._size += batch.nbytes

            yield write

    def split(self, budget: SortBudget) -> Iterator[Path]:
        """Yields files, in the order of their paths, each of which can be sorted at once."""
        if budget.fits(self.rows, self._size):
            yield self.path
            return
        boundaries = self._sample.boundaries(budget.partitions(self.rows, self._size))
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            batches = map(reader.get_batch, range(reader.num_record_batches))
            parts = _partition_rows(batches, self.path, boundaries, budget)
        self.path.unlink()
        for part in parts:
            # a part with all rows has only one path, and cannot be split
            yield from part.split(budget) if part.rows < self.rows else [part.path]


def _partition_rows(
    batches: Iterable[pa.RecordBatch], path: Path, boundaries: pa.Array, budget: SortBudget
) -> list[_Partition]:
    """Writes each row to the file of its partition, named `path` with a number as suffix, and
    returns the partitions in order.
    """
    partitions = [
        _Partition(path.with_name(f"{path.name}-{number}"), budget.sampled)
        for number in range(len(boundaries) + 1)
    ]
    split = partial(_split_batch, boundaries)
    with ExitStack() as stack:
        writers = [stack.enter_context(partition.open()) for partition in partitions]
        for parts in parallel_map(split, batches, threads=_SPLIT_THREADS, ahead=_SPLIT_THREADS):
            for partition, rows in parts:
                writers[partition](rows)
    return partitions


def _drain(batches: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields batches and removes them from the queue, so that their memory is released."""
    while batches:
        yield batches.popleft()


def _split_batch(boundaries: pa.Array, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
    """Returns the rows of a batch by partition, as (number of the partition, rows)."""
    numbers = pc.search_sorted(boundaries, batch.column("path"), side="right")
    numbers = pc.fill_null(numbers, pa.scalar(0, numbers.type))
    grouped = batch.take(pc.sort_indices(numbers))
    counts = {row["values"]: row["counts"] for row in pc.value_counts(numbers).to_pylist()}
    starts = accumulate((counts[number] for number in sorted(counts)), initial=0)
    return [
        (number, grouped.slice(start, counts[number]))
        for number, start in zip(sorted(counts), starts, strict=False)
    ]


def _sort_file(path: Path) -> list[pa.RecordBatch]:
    """Returns the rows of a partition, sorted, and removes its file."""
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        path.unlink()
        return list(_sort(reader.read_all()))


def _sort(table: pa.Table) -> Iterator[pa.RecordBatch]:
    if not _is_ascending(table["path"]):
        table = table.combine_chunks()
        # in most listings paths are unique, and the path alone determines the order
        order = pa.py_buffer(kernel.path_order(table.select(["path"])))
        indices = pa.Array.from_buffers(pa.uint32(), len(table), [None, order])
        path = table["path"].take(indices)
        if pc.any(pc.equal(path[1:], path[:-1])).as_py():
            indices = pc.sort_indices(table, sort_keys=list(ORDER))
        table = table.take(indices)
    yield from table.to_batches(max_chunksize=_BATCH)


def _is_ascending(path: pa.ChunkedArray) -> bool:
    """Returns whether the paths are in strictly ascending order."""
    if len(path) < 2:  # noqa: PLR2004
        return True
    if path.null_count or not pc.less(path[0], path[-1]).as_py():
        return False
    return bool(pc.all(pc.less(path[:-1], path[1:])).as_py())
