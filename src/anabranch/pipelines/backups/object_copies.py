"""Copies of objects between an installation's store and a target.

Entries are read from the tables in the target, joined with a listing of where objects are copied
to, and the missing ones are copied: what is there already costs no request of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.catalog.objects.own_checksums import own_md5
from anabranch.errors import Gone
from anabranch.pipelines.backups.target import BackupTarget
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.stores.entries import EntryReader, RangeSource, Source
from anabranch.pipelines.verification.stores.local_looks import LocalLooks
from anabranch.pipelines.verification.stores.needed_objects import (
    SUSPECT,
    NeededObjects,
    distinct_roots,
    marked,
)
from anabranch.pipelines.verification.stores.object_probes import Probe, probe_of
from anabranch.pipelines.verification.stores.object_sources import ObjectSources
from anabranch.pipelines.verification.stores.ranges import Ranges

__all__ = ["CopiedObject", "ObjectCopies"]

_LISTED_AT_ONCE = 65_536
_THREADS = 8


class CopiedObject(NamedTuple):
    """An entry whose object was copied, with its bytes; None if the source does not have it in the
    size of the entry, or with another MD5.
    """

    probe: Probe
    size: int | None


class _Numbered(NamedTuple):
    source: Source
    start: int
    rows: int


class ObjectCopies:
    """The objects that the entries of a backup need. `sources` are those of its references,
    `blocks` is the installation's store, and files are below `folder`.
    """

    def __init__(
        self,
        target: BackupTarget,
        sources: ObjectSources,
        blocks: BlockStore,
        folder: Path,
        progress: Progress,
    ) -> None:
        self._target = target
        self._sources = sources
        self._blocks = blocks
        self._folder = folder
        self._progress = progress
        # entries have addresses of the installation, whose full ones may be in its store's form
        absolute = blocks.qualify("local://")
        self._reader = EntryReader(target.blocks, absolute=absolute, mirror=target.mirror)
        self._numbered: list[_Numbered] = []

    def to_target(self) -> Iterator[CopiedObject]:
        """Copies what the target does not have, and yields it."""
        roots = distinct_roots(self._target.mirrored(root) for root in self._sources.roots)
        listings = map(self._target.blocks.list, roots)
        missing = self._missing(itertools.chain.from_iterable(listings))
        copy = partial(_copy, self._blocks, self._target.blocks, self._target, back=False)
        return parallel_map(copy, missing, threads=_THREADS)

    def to_installation(self) -> Iterator[CopiedObject]:
        """Copies what the installation's store does not have, and yields it."""
        listings = map(self._blocks.list, self._sources.roots)
        mirrored = (
            info._replace(address=self._target.mirrored(info.address))
            for info in itertools.chain.from_iterable(listings)
        )
        copy = partial(_copy, self._target.blocks, self._blocks, self._target, back=True)
        return parallel_map(copy, self._missing(mirrored), threads=_THREADS)

    def needed_hashes(self) -> Iterator[Hashes]:
        """Yields the hashes of the addresses in the target that entries need."""
        for source in self._all_sources():
            for entries in self._reader.read(source):
                yield hash_addresses(entries.addresses)

    def _missing(self, present: Iterator[BlockInfo]) -> Iterator[Probe]:
        """Yields the entries whose objects are not present, one of each; their addresses are those
        of the target.
        """
        sources = list(self._all_sources())
        roots = distinct_roots(self._target.mirrored(root) for root in self._sources.roots)
        rows = sum(_rows_of(source) for source in sources)
        needed = NeededObjects(self._folder, roots, rows)
        self._progress.begin("reading entries", len(sources))
        for source in sources:
            start = needed.rows
            for entries in self._reader.read(source):
                needed.need_entries(entries)
            self._numbered.append(_Numbered(source, start, needed.rows - start))
            self._progress.advance(1)
        self._progress.begin("listing objects", 0)
        while batch := list(itertools.islice(present, _LISTED_AT_ONCE)):
            addresses = pa.array([info.address for info in batch], pa.string())
            needed.list(addresses, pa.array([info.size for info in batch], pa.int64()))
            self._progress.advance(len(batch))
        flags = needed.mark(0, 0).flags
        self._progress.begin("copying objects", int(np.count_nonzero(flags == SUSPECT)))
        return self._probes(flags)

    def _all_sources(self) -> Iterator[Source]:
        for repository, trees, required in self._sources.repositories:
            mirrored = self._target.repository(repository)
            ranges = Ranges(mirrored, LocalLooks(self._target.blocks))
            needed = {tree: commit for tree, commit in trees.items() if tree in required}
            for _ in ranges.read(needed, required, self._progress):
                pass  # what could not be copied was reported when it was
            for each in ranges.listed.values():
                yield RangeSource(mirrored, each.info)
        for area in self._sources.areas:
            yield area._replace(repository=self._target.repository(area.repository))

    def _probes(self, flags: npt.NDArray[np.uint8]) -> Iterator[Probe]:
        for source, start, rows in self._numbered:
            wanted = dict(marked(flags, start, rows))
            if wanted:
                yield from self._marked_entries(source, wanted)

    def _marked_entries(self, source: Source, wanted: Mapping[int, int]) -> Iterator[Probe]:
        first = 0
        for entries in self._reader.read(source):
            count = len(entries.paths)
            for position in [each for each in wanted if first <= each < first + count]:
                if wanted[position] == SUSPECT:
                    yield probe_of(source, entries, position - first, wanted[position])
            first += count


def _rows_of(source: Source) -> int:
    return source.info.count if isinstance(source, RangeSource) else source.rows


def _copy(
    source: BlockStore, destination: BlockStore, target: BackupTarget, missing: Probe, *, back: bool
) -> CopiedObject:
    """Copies an object to the target, or `back` from it."""
    mirrored, original = missing.address, target.original(missing.address)
    origin, place = (mirrored, original) if back else (original, mirrored)
    info = source.stat(origin)
    if info is None or info.size != missing.entry.size:
        return CopiedObject(missing, None)
    try:
        stored = destination.put(place, source.get(origin))
    except Gone:
        return CopiedObject(missing, None)
    md5 = own_md5(missing.entry)
    if md5 and stored.checksum != md5:
        destination.delete([place])
        return CopiedObject(missing, None)
    return CopiedObject(missing, stored.size)
