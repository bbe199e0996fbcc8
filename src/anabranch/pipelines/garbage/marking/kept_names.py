"""What metadata files, manifest lists and manifests of tables name, kept between runs.

A file of an area is written once. But a name may be used again after a collection has removed its
file, also one on another machine. So what is kept of a file counts as long as the store says that
the file has the same size and time. A file is kept an hour after it was written: the times of
stores are whole seconds. Each file has one of its own in the folder, by the digest of its address:

    "ANATABL1"  sha256 of the rest (32 bytes)  as `KeptForm` has it: `Named`
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

import msgspec
import pyarrow as pa

from anabranch.blocks.contract import BlockInfo
from anabranch.files.private_folders import make_private_folder
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.area_files import AreaPath, area_paths
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.checked_file import KeptForm, remove_others
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS
from anabranch.versioning.garbage.table_files import TableFiles

__all__ = ["FileKind", "FilePaths", "KeptNames", "Named"]

FileKind = Literal["metadata", "manifest list", "manifest"]


class Named(msgspec.Struct, frozen=True, array_like=True):
    """What a file of this size and time names: manifest lists and manifests, which name more, and
    the hashes and areas of the other files.
    """

    size: int
    mtime: int
    lists: tuple[str, ...]
    manifests: tuple[str, ...]
    hashes: bytes
    areas: tuple[str, ...]


_FORM = KeptForm(b"ANATABL1", msgspec.msgpack.Decoder(Named))


class FilePaths(NamedTuple):
    """Files of areas: the hashes of their addresses in a namespace, and their areas."""

    hashes: Hashes
    areas: frozenset[str]

    @classmethod
    def of(cls, paths: Iterable[AreaPath]) -> FilePaths:
        """Returns those of files."""
        names, areas = [], set()
        for each in paths:
            names.append(each.relative)
            areas.add(each.area)
        return cls(distinct([hash_addresses(pa.array(names, pa.string()))]), frozenset(areas))


class KeptNames:
    """What the files name that `files` reads, kept in a folder if there is one, of files that were
    stored an hour before `now`, in seconds since 1970. `read` is how many were read because what
    they name was not kept. It can be used by several threads.
    """

    def __init__(self, files: TableFiles, folder: Path | None, now: float) -> None:
        self._files = files
        self._folder = folder
        self._before = now - CLOCK_SKEW_SECONDS
        self._used: set[str] = set()
        self._lock = Lock()
        self.read = 0
        self._paths: dict[str, Sequence[AreaPath]] = {}
        if folder is not None:
            make_private_folder(folder)

    def load(self, kind: FileKind, home: Repository, address: str) -> Named:
        """Returns what a file names, which is read if that is not kept. Raises as the methods of
        `TableFiles` do.
        """
        stored = self._files.find(home, address)
        text = f"{kind} {stored.address}".encode("utf-8", "surrogatepass")
        name = hashlib.sha256(text).hexdigest()
        self._used.add(name)
        kept = None if self._folder is None else _FORM.read(self._folder / name)
        if kept is not None and (kept.size, kept.mtime) == (stored.size, stored.mtime):
            return kept
        named = self._named(kind, home, address, stored)
        if self._folder is not None and stored.mtime < self._before:
            _FORM.write(self._folder / name, named)
        with self._lock:
            self.read += 1
        return named

    def paths(self, addresses: Iterable[str]) -> FilePaths:
        """Returns the files of areas that addresses may mean, which many files name."""
        return FilePaths.of(path for each in addresses for path in self._area_paths(each))

    def _named(self, kind: FileKind, home: Repository, address: str, stored: BlockInfo) -> Named:
        """Reads a file."""
        lists: Sequence[str] = ()
        manifests: Sequence[str] = ()
        if kind == "metadata":
            found = self._files.metadata(home, address, stored)
            lists, manifests = found.manifest_lists, found.manifests
            paths = self.paths(found.texts.difference(lists, manifests))
        elif kind == "manifest list":
            manifests = self._files.manifest_list(home, address, stored)
            paths = FilePaths.of(())
        else:
            files = self._files.manifest(home, address, stored)
            paths = FilePaths.of(path for each in files for path in area_paths(each))
        return Named(
            *(stored.size, stored.mtime, tuple(lists), tuple(manifests)),
            *(paths.hashes.astype("<u8").tobytes(), tuple(sorted(paths.areas))),
        )

    def remove_unused(self) -> None:
        """Removes what is kept of files that were not asked for."""
        if self._folder is not None:
            remove_others(self._folder, self._used)

    def _area_paths(self, text: str) -> Sequence[AreaPath]:
        found = self._paths.get(text)
        if found is None:
            # all metadata of a table have mostly the same texts
            found = self._paths[text] = area_paths(text)
        return found
