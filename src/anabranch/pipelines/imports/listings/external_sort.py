"""External sort of listings by path, in bounded memory.

A small listing is sorted in memory. A larger one is partitioned: a sample of the first rows
determines the paths that separate the partitions (shares), each row is written to the file of its
share, and the shares are sorted one after another, the next one while the previous one is read. A
share that is too large, as the last one is if rows come in order, is partitioned again by a sample
of its own. Shares are kept small: rows that fit a processor's cache are sorted in half the time.
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
_CUTTING = 2
_SHARES, _SMALLER = 256, 8
"""Shares are so much smaller than the room, unless that makes more files than these."""

_FIRST = 64
"""The number of shares of the first partitioning, when the number of rows is unknown."""


class SortBudget(msgspec.Struct, frozen=True):
    """The rows and bytes that are sorted at once, at most; memory use is about four times that. One
    of `sampled` rows is in the sample.
    """

    rows: int = 2_000_000
    bytes: int = 384 << 20
    sampled: int = 512

    def fits(self, rows: int, size: int) -> bool:
        """Returns whether these can be sorted at once."""
        return rows <= self.rows and size <= self.bytes

    def shares(self, rows: int, size: int) -> int:
        """Returns the number of shares for these."""
        needed = max(rows // self.rows, size // self.bytes) + 1
        return max(needed, min(_SHARES, needed * _SMALLER))


DEFAULT_BUDGET = SortBudget()


def sort_listing(
    batches: Iterable[pa.RecordBatch], folder: Path, budget: SortBudget = DEFAULT_BUDGET
) -> Iterator[pa.RecordBatch]:
    """Yields batches of LISTED in ORDER; the sort is stable. Files are written into `folder`, which
    must exist. All rows of one path are held in memory at once.
    """
    remaining = iter(batches)
    held: deque[pa.RecordBatch] = deque()
    rows = size = 0
    for batch in remaining:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if not budget.fits(rows, size):
            break
    else:
        yield from _sort(pa.Table.from_batches(held, schema=LISTED))
        return
    sample = _Sample(budget.sampled)
    for batch in held:
        sample.add(batch)
    shares = _partition_rows(
        chain(_drain(held), remaining), folder / "share", sample.cuts(_FIRST), budget
    )
    small = (path for each in shares for path in each.split(budget))
    for share in parallel_map(_write_sorted, small, threads=1, ahead=1):
        yield from share


class _Sample:
    """The path of every `sampled`-th row."""

    def __init__(self, sampled: int) -> None:
        self._sampled = sampled
        self._paths: list[pa.Array] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        # from where the rows of the batches before end
        places = pa.array(range(-self._rows % self._sampled, batch.num_rows, self._sampled))
        if len(places):
            self._paths.append(batch.column("path").take(places.cast(pa.int64())))
        self._rows += batch.num_rows

    def cuts(self, shares: int) -> pa.Array:
        """Returns the paths that separate the sample into `shares` shares, or fewer."""
        paths = pa.chunked_array(self._paths, pa.string()).drop_null()
        paths = paths.take(pc.sort_indices(paths)).combine_chunks()
        places = {number * len(paths) // shares for number in range(1, shares) if len(paths)}
        return pc.unique(paths.take(pa.array(sorted(places), pa.int64())))


class _Share:
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

    def split(self, room: SortBudget) -> Iterator[Path]:
        """Yields files that can be sorted at once; together they have the rows of this one in
        order.
        """
        if room.fits(self.rows, self._size):
            yield self.path
            return
        cuts = self._sample.cuts(room.shares(self.rows, self._size))
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            batches = map(reader.get_batch, range(reader.num_record_batches))
            parts = _partition_rows(batches, self.path, cuts, room)
        self.path.unlink()
        for part in parts:
            # a part as large as the whole has a single path
            yield from part.split(room) if part.rows < self.rows else [part.path]


def _partition_rows(
    batches: Iterable[pa.RecordBatch], path: Path, cuts: pa.Array, budget: SortBudget
) -> list[_Share]:
    """Writes each row to the file of its share, named `path` with a number as suffix, and returns
    the shares in order.
    """
    shares = [
        _Share(path.with_name(f"{path.name}-{number}"), budget.sampled)
        for number in range(len(cuts) + 1)
    ]
    with ExitStack() as stack:
        write = [stack.enter_context(share.open()) for share in shares]
        for pieces in parallel_map(partial(_cut, cuts), batches, threads=_CUTTING, ahead=_CUTTING):
            for which, piece in pieces:
                write[which](piece)
    return shares


def _drain(batches: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields batches and releases them."""
    while batches:
        yield batches.popleft()


def _cut(cuts: pa.Array, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
    """Returns the rows of each share that has any, with its number."""
    share = pc.search_sorted(cuts, batch.column("path"), side="right")
    share = pc.fill_null(share, pa.scalar(0, share.type))
    together = batch.take(pc.sort_indices(share))
    counts = {each["values"]: each["counts"] for each in pc.value_counts(share).to_pylist()}
    starts = accumulate((counts[which] for which in sorted(counts)), initial=0)
    return [
        (which, together.slice(start, counts[which]))
        for which, start in zip(sorted(counts), starts, strict=False)
    ]


def _write_sorted(path: Path) -> list[pa.RecordBatch]:
    """Returns the rows of a share, sorted, and removes its file."""
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        path.unlink()
        return list(_sort(reader.read_all()))


def _sort(table: pa.Table) -> Iterator[pa.RecordBatch]:
    if not _ascends(table["path"]):
        table = table.combine_chunks()
        # most listings have each path once, and then the path alone determines the order
        order = pa.py_buffer(kernel.path_order(table.select(["path"])))
        places = pa.Array.from_buffers(pa.uint32(), len(table), [None, order])
        path = table["path"].take(places)
        if pc.any(pc.equal(path[1:], path[:-1])).as_py():
            places = pc.sort_indices(table, sort_keys=list(ORDER))
        table = table.take(places)
    yield from table.to_batches(max_chunksize=_BATCH)


def _ascends(path: pa.ChunkedArray) -> bool:
    """Returns whether the paths are in strictly ascending order."""
    if len(path) < 2:  # noqa: PLR2004
        return True
    if path.null_count or not pc.less(path[0], path[-1]).as_py():
        return False
    return bool(pc.all(pc.less(path[:-1], path[1:])).as_py())
