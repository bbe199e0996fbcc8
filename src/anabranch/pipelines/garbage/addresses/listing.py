"""A listing: what the store holds under a namespace's data folder, as columns on this machine.

A store tells of one object at a time; the listing goes to an Arrow file, and later steps read that
in batches, as often as they need. Who has an inventory of the store gives its batches instead.
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
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["DATA", "LISTING", "Listing", "list_objects", "list_slice", "write_listing"]

DATA = "data/"
"""Where objects lie, in a namespace."""

LISTING = pa.schema(
    [
        pa.field("address", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("mtime", pa.int64(), nullable=False),
    ]
)
"""An object: its address relative to the namespace, its size in bytes, and when it was stored."""

_BATCH = 65_536
_HASHED = LISTING.append(pa.field("hash", pa.uint64(), nullable=False))


class Listing(NamedTuple):
    """A listing in a file. Only objects that are old enough to be looked at are in it."""

    path: Path
    objects: int
    size: int
    young: int
    young_hashes: Sequence[Hashes] = ()
    """The hashes of the objects that are not in the file."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the objects, with the hashes of their addresses."""
        with pa.memory_map(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number)


def list_objects(blocks: BlockStore, namespace: Namespace) -> Iterator[pa.RecordBatch]:
    """Yields what a store holds in a namespace's data folder, in order."""
    return list_slice(blocks, namespace.stem)


def list_slice(
    blocks: BlockStore, stem: str, after: str = "", last: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yields the same of a namespace that begins with `stem`, only those names, behind `data/`,
    that come after one and not after another.
    """
    root = f"{stem}{DATA}"
    there: Iterator[BlockInfo] = blocks.list(root, f"{root}{after}" if after else "")
    if last:
        end = f"{root}{last}".encode()
        there = itertools.takewhile(lambda found: found.address.encode() <= end, there)
    while rows := list(itertools.islice(there, _BATCH)):
        addresses, sizes, mtimes = zip(*rows, strict=True)
        relative = pc.utf8_slice_codeunits(pa.array(addresses, pa.string()), len(stem))
        yield pa.RecordBatch.from_arrays(
            [relative, pa.array(sizes, pa.int64()), pa.array(mtimes, pa.int64())], schema=LISTING
        )


def write_listing(
    path: Path, batches: Iterable[pa.RecordBatch], before: int, progress: Progress
) -> Listing:
    """Writes those objects to a file that were stored before a time, in seconds since 1970."""
    progress.begin("listing the store", 0)
    objects = size = too_young = 0

    young_hashes: list[Hashes] = []

    def hashed(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Hashes, int, int]:
        newest = pc.max(batch.column("mtime")).as_py()
        young = newest is not None and newest >= before
        is_old = pc.less(batch.column("mtime"), before)
        old = batch.filter(is_old) if young else batch
        young_rows = batch.filter(pc.invert(is_old)) if young else batch[:0]
        others = hash_addresses(young_rows.column("address"))
        hashes = pa.array(hash_addresses(old.column("address")), pa.uint64())
        kept = pa.RecordBatch.from_arrays([*old.columns, hashes], schema=_HASHED)
        return kept, others, batch.num_rows, pc.sum(batch.column("size")).as_py() or 0

    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, _HASHED) as writer:
        for kept, others, rows, bytes_there in parallel_map(hashed, batches):
            writer.write_batch(kept)
            if len(others):
                young_hashes.append(others)
            objects += rows
            too_young += rows - kept.num_rows
            size += bytes_there
            progress.advance(rows)
    return Listing(path, objects, size, too_young, young_hashes)
