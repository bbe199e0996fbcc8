"""Listings in the order of their paths, whatever their size, in bounded memory.

A listing that is small is sorted where it is. Of a larger one, a sample of the first rows says at
which paths to cut it into shares. All rows are dealt to one file for each share, and the shares
sorted one after another, the next while the last is read. A share that became too large, as all
later rows are in one where they came in order, is dealt again, by a sample of its own. Shares are
small where they can be: what fits a processor's cache is sorted in half the time.
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
from anabranch.pipelines.imports.listings import LISTED, ORDER
from anabranch.pipelines.side_by_side import side_by_side

__all__ = ["ROOM", "Room", "in_order"]

_BATCH = 65_536
_CUTTING = 2
_SHARES, _SMALLER = 256, 8
"""Shares are so much smaller than the room, unless that makes more files than these."""

_FIRST = 64
"""In so many shares rows are dealt before anybody knows how many there are."""


class Room(msgspec.Struct, frozen=True):
    """How much is sorted at once, at most; some four times that is in memory. Of `sampled` rows,
    one tells where to cut.
    """

    rows: int = 2_000_000
    bytes: int = 384 << 20
    sampled: int = 512

    def holds(self, rows: int, size: int) -> bool:
        """Returns whether so much is sorted at once."""
        return rows <= self.rows and size <= self.bytes

    def shares(self, rows: int, size: int) -> int:
        """Returns in how many shares to sort so much."""
        needed = max(rows // self.rows, size // self.bytes) + 1
        return max(needed, min(_SHARES, needed * _SMALLER))


ROOM = Room()


def in_order(
    batches: Iterable[pa.RecordBatch], folder: Path, room: Room = ROOM
) -> Iterator[pa.RecordBatch]:
    """Yields batches of LISTED in the order that is asked for; of rows that are alike in it, the
    one that came first is first. Files are written into `folder`, which must be there; one path
    that comes very often is held in memory with all of its rows.
    """
    coming = iter(batches)
    held: deque[pa.RecordBatch] = deque()
    rows = size = 0
    for batch in coming:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if not room.holds(rows, size):
            break
    else:
        yield from _sorted(pa.Table.from_batches(held, schema=LISTED))
        return
    sample = _Sample(room.sampled)
    for batch in held:
        sample.add(batch)
    shares = _dealt(chain(_taken(held), coming), folder / "share", sample.cuts(_FIRST), room)
    small = (path for each in shares for path in each.small(room))
    for share in side_by_side(_sorted_file, small, threads=1, ahead=1):
        yield from share


class _Sample:
    """The paths of some rows: of so many, one."""

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
        """Returns the paths at which to cut what was sampled into so many shares, or fewer."""
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
    def writing(self) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """Gives what adds rows."""
        with pa.OSFile(str(self.path), "wb") as file, pa.ipc.new_file(file, LISTED) as writer:

            def write(batch: pa.RecordBatch) -> None:
                writer.write_batch(batch)
                self._sample.add(batch)
                self.rows += batch.num_rows
                self._size += batch.nbytes

            yield write

    def small(self, room: Room) -> Iterator[Path]:
        """Yields files that together are this one, in order, each of which is sorted at once."""
        if room.holds(self.rows, self._size):
            yield self.path
            return
        cuts = self._sample.cuts(room.shares(self.rows, self._size))
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_file(file) as reader:
            batches = map(reader.get_batch, range(reader.num_record_batches))
            parts = _dealt(batches, self.path, cuts, room)
        self.path.unlink()
        for part in parts:
            # what came out as large as it was is one path, again and again
            yield from part.small(room) if part.rows < self.rows else [part.path]


def _dealt(
    batches: Iterable[pa.RecordBatch], path: Path, cuts: pa.Array, room: Room
) -> list[_Share]:
    """Writes each row to the file of its share, named as `path` is with a number behind it, and
    returns the shares in order.
    """
    shares = [
        _Share(path.with_name(f"{path.name}-{number}"), room.sampled)
        for number in range(len(cuts) + 1)
    ]
    with ExitStack() as stack:
        write = [stack.enter_context(share.writing()) for share in shares]
        for pieces in side_by_side(partial(_cut, cuts), batches, threads=_CUTTING, ahead=_CUTTING):
            for which, piece in pieces:
                write[which](piece)
    return shares


def _taken(batches: deque[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields batches and forgets them."""
    while batches:
        yield batches.popleft()


def _cut(cuts: pa.Array, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
    """Returns the rows of each share that has some."""
    share = pc.search_sorted(cuts, batch.column("path"), side="right")
    share = pc.fill_null(share, pa.scalar(0, share.type))
    together = batch.take(pc.sort_indices(share))
    counts = {each["values"]: each["counts"] for each in pc.value_counts(share).to_pylist()}
    starts = accumulate((counts[which] for which in sorted(counts)), initial=0)
    return [
        (which, together.slice(start, counts[which]))
        for which, start in zip(sorted(counts), starts, strict=False)
    ]


def _sorted_file(path: Path) -> list[pa.RecordBatch]:
    """Returns the rows of a share, sorted, and removes its file."""
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        path.unlink()
        return list(_sorted(reader.read_all()))


def _sorted(table: pa.Table) -> Iterator[pa.RecordBatch]:
    if not _ascends(table["path"]):
        table = table.combine_chunks()
        # most listings have each path once, and then nothing else tells
        order = pa.py_buffer(kernel.path_order(table.select(["path"])))
        places = pa.Array.from_buffers(pa.uint32(), len(table), [None, order])
        path = table["path"].take(places)
        if pc.any(pc.equal(path[1:], path[:-1])).as_py():
            places = pc.sort_indices(table, sort_keys=list(ORDER))
        table = table.take(places)
    yield from table.to_batches(max_chunksize=_BATCH)


def _ascends(path: pa.ChunkedArray) -> bool:
    """Returns whether each path comes after the one before: then it is sorted already."""
    if len(path) < 2:  # noqa: PLR2004
        return True
    if path.null_count or not pc.less(path[0], path[-1]).as_py():
        return False
    return bool(pc.all(pc.less(path[:-1], path[1:])).as_py())
