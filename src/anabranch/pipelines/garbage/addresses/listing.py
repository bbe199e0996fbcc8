"""Listing of a namespace's folders of objects and of areas of tables, as a local Arrow file.

The store is listed once; later steps read the file in batches as often as they need. Batches of an
inventory of the store can replace the listing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["DATA_PREFIX", "LISTING", "Listing"]
__all__ += ["list_slice", "write_listing"]

DATA_PREFIX = "data/"
"""The folder of objects in a namespace."""

LISTING = pa.schema(
    [
        pa.field("address", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime", pa.int64(), nullable=False),
    ]
)
"""An object: its address relative to the namespace, size in bytes, and modification time in seconds
since 1970.
"""

_BATCH_ROWS = 65_536
_HASHED = LISTING.append(pa.field("hash", pa.uint64(), nullable=False))


class Listing(NamedTuple):
    """A listing. The file has the objects that are old enough to be candidates; `objects` and
    `size` are the totals of all objects, `young` is the number of those that are not in the file.
    """

    path: Path
    objects: int
    size: int
    young: int
    young_hashes: Sequence[Hashes] = ()
    """The hashes of the addresses of young objects."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the objects, with the hashes of their addresses."""
        with pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


def list_slice(
    blocks: BlockStore, prefix: str, after: str = "", last: str = "", *, folder: str = DATA_PREFIX
) -> Iterator[pa.RecordBatch]:
    """Yields the objects in a folder of the namespace with an address prefix, sorted by address, as
    LISTING: those whose names, relative to the folder, sort after `after` and not after `last`, if
    these are given.
    """
    root = f"{prefix}{folder}"
    objects: Iterator[BlockInfo] = blocks.list(root, f"{root}{after}" if after else "")
    if last:
        end = f"{root}{last}".encode()
        objects = itertools.takewhile(lambda block: block.address.encode() <= end, objects)
    yield from _to_batches(objects, prefix)


def _to_batches(objects: Iterator[BlockInfo], prefix: str) -> Iterator[pa.RecordBatch]:
    """Yields objects as batches of LISTING."""
    while rows := list(itertools.islice(objects, _BATCH_ROWS)):
        addresses, sizes, mtimes = zip(*rows, strict=True)
        relative = pc.utf8_slice_codeunits(pa.array(addresses, pa.string()), len(prefix))
        columns = [relative, pa.array(sizes, pa.int64()), pa.array(mtimes, pa.int64())]
        yield pa.RecordBatch.from_arrays(columns, schema=LISTING)


def write_listing(
    path: Path, batches: Iterable[pa.RecordBatch], before: int, progress: Progress
) -> Listing:
    """Writes the objects that were stored before a time, in seconds since 1970, to a file."""
    progress.begin("listing the store", 0)
    objects = size = young = 0

    young_hashes: list[Hashes] = []

    def split_by_age(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Hashes, int, int]:
        newest = pc.max(batch.column("mtime")).as_py()
        has_young = newest is not None and newest >= before
        is_old = pc.less(batch.column("mtime"), before)
        old_rows = batch.filter(is_old) if has_young else batch
        young_rows = batch.filter(pc.invert(is_old)) if has_young else batch[:0]
        hashes = pa.array(hash_addresses(old_rows.column("address")), pa.uint64())
        old = pa.RecordBatch.from_arrays([*old_rows.columns, hashes], schema=_HASHED)
        young = hash_addresses(young_rows.column("address"))
        return old, young, batch.num_rows, pc.sum(batch.column("size")).as_py() or 0

    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _HASHED) as writer:
        for old, hashes, rows, batch_size in parallel_map(split_by_age, batches):
            writer.write_batch(old)
            if len(hashes):
                young_hashes.append(hashes)
            objects += rows
            young += rows - old.num_rows
            size += batch_size
            progress.advance(rows)
    return Listing(path, objects, size, young, young_hashes)
