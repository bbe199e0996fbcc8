"""Listings in the order of their paths, whatever their size, in bounded memory.

A listing that is small is sorted where it is. A larger one is written to a file, and a sample of
its paths is kept; the sample says at which paths to cut it into shares. The rows are then dealt to
one file for each share, and the shares sorted one after another, the next while the last is read.
Shares are small where they can be: what fits a processor's cache is sorted in half the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.pipelines.imports.listings import LISTED, ORDER

__all__ = ["ROOM", "Room", "in_order"]

_BATCH = 65_536
_SHARES, _SMALLER = 256, 8
"""Shares are so much smaller than the room, unless that makes more files than these."""


class Room(msgspec.Struct, frozen=True):
    """How much is sorted at once, at most; some four times that is in memory. Of `sampled` rows,
    one tells where to cut.
    """

    rows: int = 2_000_000
    bytes: int = 384 << 20
    sampled: int = 512

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
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in coming:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows > room.rows or size > room.bytes:
            break
    else:
        yield from _sorted(pa.Table.from_batches(held, schema=LISTED))
        return
    whole = folder / "listing.arrow"
    cuts = _kept(chain(held, coming), whole, room)
    held.clear()
    shares = _dealt(whole, folder, cuts)
    whole.unlink()
    with ThreadPoolExecutor(1) as pool:
        ready = pool.submit(_sorted_file, shares[0])
        for following in [*shares[1:], None]:
            share = ready.result()
            if following is not None:
                ready = pool.submit(_sorted_file, following)
            yield from share


def _kept(batches: Iterable[pa.RecordBatch], path: Path, room: Room) -> pa.Array:
    """Writes batches to a file; returns the paths at which to cut them into shares."""
    sampled: list[pa.Array] = []
    rows = size = 0
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, LISTED) as writer:
        for batch in batches:
            writer.write_batch(batch)
            # from where the rows of the batches before end
            places = pa.array(range(-rows % room.sampled, batch.num_rows, room.sampled))
            sampled.append(batch.column("path").take(places.cast(pa.int64())))
            rows += batch.num_rows
            size += batch.nbytes
    sample = pa.chunked_array(sampled, pa.string()).drop_null()
    sample = sample.take(pc.sort_indices(sample)).combine_chunks()
    shares = room.shares(rows, size)
    places = {number * len(sample) // shares for number in range(1, shares) if len(sample)}
    return pc.unique(sample.take(pa.array(sorted(places), pa.int64())))


def _dealt(whole: Path, folder: Path, cuts: pa.Array) -> list[Path]:
    """Writes each row of a file to the file of its share, and returns these in order."""
    shares = [folder / f"share-{number}.arrow" for number in range(len(cuts) + 1)]
    with ExitStack() as stack:
        source = stack.enter_context(pa.OSFile(str(whole)))
        reader = stack.enter_context(pa.ipc.open_file(source))
        writers = []
        for path in shares:
            file = stack.enter_context(pa.OSFile(str(path), "wb"))
            writers.append(stack.enter_context(pa.ipc.new_file(file, LISTED)))
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            share = pc.search_sorted(cuts, batch.column("path"), side="right")
            share = pc.fill_null(share, pa.scalar(0, share.type))
            together = batch.take(pc.sort_indices(share))
            start = 0
            counts = {each["values"]: each["counts"] for each in pc.value_counts(share).to_pylist()}
            for which in sorted(counts):
                writers[which].write_batch(together.slice(start, counts[which]))
                start += counts[which]
    return shares


def _sorted_file(path: Path) -> list[pa.RecordBatch]:
    """Returns the rows of a share, sorted, and removes its file."""
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        path.unlink()
        return list(_sorted(reader.read_all()))


def _sorted(table: pa.Table) -> Iterator[pa.RecordBatch]:
    if not _ascends(table["path"]):
        table = table.combine_chunks()
        table = table.take(pc.sort_indices(table, sort_keys=list(ORDER)))
    yield from table.to_batches(max_chunksize=_BATCH)


def _ascends(path: pa.ChunkedArray) -> bool:
    """Returns whether each path comes after the one before: then it is sorted already."""
    if len(path) < 2:  # noqa: PLR2004
        return True
    if path.null_count or not pc.less(path[0], path[-1]).as_py():
        return False
    return bool(pc.all(pc.less(path[:-1], path[1:])).as_py())
