"""The check of tables of the Iceberg catalog: records name metadata, these name lists of manifests,
these manifests, and these the files with data and deletes. No entry names them.

The metadata of most commits share most of their manifests, so each file is read once. Of data and
deletes only the hashes of their addresses are kept, with the number of a manifest that names each:
12 bytes for each file of a repository's tables. The areas are listed after that, and what seems to
be missing is looked up. Files that cannot be understood name nothing here: that an engine cannot
read them is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt, Gone, Invalid, NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.area_files import area_paths
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.exports.chunked import chunked
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.findings import Finding
from anabranch.pipelines.verification.stores.live_needs import Needs
from anabranch.pipelines.verification.stores.local_looks import LISTED_AT_ONCE, stored_below
from anabranch.pipelines.verification.stores.table_records import RecordSources, metadata_of
from anabranch.tables.iceberg.named_files import NamedFiles
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.table_files import TableFiles

__all__ = ["check_area_files"]

CHECK = "objects"
_THREADS = 16
_FILES_AT_ONCE = 1 << 20
_FILE = np.dtype([("hash", "<u8"), ("manifest", "<u4")])

T = TypeVar("T")


def check_area_files(
    core: Core, blocks: BlockStore, live: Needs, found: Sequence[RecordSources], progress: Progress
) -> Iterator[Finding]:
    """Yields the files that records lead to and that are missing."""
    files = TableFiles(blocks, core.repositories.of_name)
    for sources in found:
        repository = sources.repository
        progress.begin(f"reading the tables of {repository.id}", len(sources.trees))
        named = _NamedFiles(files, blocks, repository)
        named.follow(metadata_of(core, blocks, sources, progress))
        missing = named.missing()
        if missing and live.has_repository(repository):
            for address, path in missing.items():
                yield Finding(
                    *(CHECK, "object_missing", f"{repository.id} {path}"),
                    f"a file of the table is missing: {address}",
                )


class _NamedFiles:
    """The files in areas of a repository that its tables name."""

    def __init__(self, files: TableFiles, blocks: BlockStore, repository: Repository) -> None:
        self._files = files
        self._blocks = blocks
        self._repository = repository
        self._root = f"{repository.storage_namespace.rstrip('/')}/"
        self._folders: set[str] = set()
        self._named: dict[str, str] = {}
        """The addresses in the store of metadata, lists and manifests, and the path of a record."""
        self._manifests: list[tuple[str, str]] = []
        """The addresses of manifests, each with the path of a record."""
        self._data: list[npt.NDArray[np.void]] = []
        self._unsorted = 0

    def follow(self, metadata: Mapping[str, str]) -> None:
        """Reads metadata, which are mapped to the path of a record, and all that they lead to."""
        read = self._files
        lists: dict[str, str] = {}
        manifests: dict[str, str] = {}
        for path, found in self._read(read.metadata, self._note(metadata, metadata)):
            named = found or NamedFiles()
            manifests.update(self._note(named.manifests, path))
            lists.update(self._note(named.manifest_lists, path))
        for path, listed in self._read(read.manifest_list, lists):
            manifests.update(self._note(listed, path))
        self._manifests = list(manifests.items())
        contents = self._read(read.needed_by_manifest, manifests)
        for number, (_, files) in enumerate(contents):
            self._add(number, [*self._stored(files)])

    def missing(self) -> dict[str, str]:
        """Returns the addresses of files that are missing, and the path of a record that leads to
        each.
        """
        data = self._distinct()
        is_there = np.zeros(len(data), np.bool_)
        lost = dict(self._named)
        for folder in sorted(self._folders):
            listed = (info.address for info in stored_below(self._blocks, folder))
            for batch in chunked(listed, LISTED_AT_ONCE):
                for address in batch:
                    lost.pop(address, None)
                is_there[_positions(_hashes(batch), data)] = True
        lost.update(self._names(data[~is_there]))
        is_missing = parallel_map(self._is_missing, lost, threads=_THREADS)
        return {
            each: path for (each, path), gone in zip(lost.items(), is_missing, strict=True) if gone
        }

    def _read(
        self, read: Callable[[Repository, str], T], addresses: Mapping[str, str]
    ) -> Iterator[tuple[str, T | tuple[()]]]:
        """Yields the path of a record and what a file names, in order; nothing if it is missing, or
        not understood.
        """

        def load(address: str) -> T | tuple[()]:
            try:
                return read(self._repository, address)
            except (Corrupt, Gone, Invalid, NotFound):
                return ()

        contents = parallel_map(load, addresses, threads=_THREADS)
        yield from zip(addresses.values(), contents, strict=True)

    def _note(self, addresses: Iterable[str], path: str | Mapping[str, str]) -> dict[str, str]:
        """Notes files that are named, and returns those that were not yet."""
        new: dict[str, str] = {}
        for address in addresses:
            for stored in self._stored([address]):
                if stored not in self._named:
                    own = path if isinstance(path, str) else path[address]
                    self._named[stored] = new[address] = own
        return new

    def _stored(self, addresses: Iterable[str]) -> Iterator[str]:
        """Yields the addresses in the store of files in areas of the repository. An address that
        clients may understand in several ways is left out.
        """
        for address in addresses:
            places = area_paths(address)
            if len(places) == 1 and places[0].repository == self._repository.id:
                stored = self._root + places[0].relative
                self._folders.add(stored.removesuffix(places[0].path))
                yield stored

    def _add(self, manifest: int, stored: Sequence[str]) -> None:
        """Adds the data and deletes that a manifest names."""
        files = np.empty(len(stored), _FILE)
        files["hash"], files["manifest"] = _hashes(stored), manifest
        self._data.append(files)
        self._unsorted += len(files)
        if self._unsorted >= max(_FILES_AT_ONCE, len(self._data[0])):
            self._distinct()

    def _distinct(self) -> npt.NDArray[np.void]:
        """Returns the data and deletes, each once, by their hashes."""
        files = np.concatenate([np.empty(0, _FILE), *self._data])
        _, first = np.unique(files["hash"], return_index=True)
        self._data, self._unsorted = [files[first]], 0
        return self._data[0]

    def _names(self, files: npt.NDArray[np.void]) -> dict[str, str]:
        """Returns the addresses in the store of data and deletes, and the paths of records: reads
        the manifests that name them again.
        """
        wanted = dict(self._manifests[number] for number in np.unique(files["manifest"]).tolist())
        names: dict[str, str] = {}
        for path, found in self._read(self._files.needed_by_manifest, wanted):
            stored = [*self._stored(found)]
            is_wanted = np.isin(_hashes(stored), files["hash"])
            names.update((stored[row], path) for row in np.flatnonzero(is_wanted).tolist())
        return names

    def _is_missing(self, address: str) -> bool:
        try:
            return self._blocks.stat(address) is None
        except Invalid:
            return False


def _hashes(addresses: Sequence[str]) -> Hashes:
    return hash_addresses(pa.array(addresses, pa.string()))


def _positions(hashes: Hashes, data: npt.NDArray[np.void]) -> npt.NDArray[np.intp]:
    """Returns the positions of those of the hashes that are among sorted data."""
    if not len(data):
        return np.empty(0, np.intp)
    positions = np.searchsorted(data["hash"], hashes)
    positions[positions == len(data)] = 0
    found: npt.NDArray[np.intp] = positions[data["hash"][positions] == hashes]
    return found
