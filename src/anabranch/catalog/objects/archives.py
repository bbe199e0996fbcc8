"""TAR archives of objects, made while they are sent.

The format is POSIX.1-2001's ("pax"), which has names and sizes of any length. Only the names, sizes
and times of the objects are needed for the size of the whole, which is known before it is sent.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.paths import is_plain
from anabranch.catalog.objects.objects import Objects
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import Invalid, NotFound
from anabranch.model.names import is_prefix
from anabranch.model.objects.entry import Entry
from anabranch.model.objects.stat import Stat
from anabranch.versioning.core import Core
from anabranch.versioning.references.references import Resolved

__all__ = ["MAX_OBJECTS", "Archive", "Archives"]

MAX_OBJECTS = 10_000
_END = bytes(2 * tarfile.BLOCKSIZE)
_PIECE_BYTES = 256 * 1024
"""Small objects are sent together, in pieces of about this size."""


class Member(NamedTuple):
    """An object of an archive: what precedes its bytes, and those."""

    header: bytes
    source: OpenObject

    @property
    def padding(self) -> int:
        """The number of zero bytes after the object."""
        return -self.source.entry.size % tarfile.BLOCKSIZE

    def chunks(self) -> Iterator[bytes]:
        """Yields the member in parts."""
        yield self.header
        yield from self.source.chunks()
        yield bytes(self.padding)


class Archive(NamedTuple):
    """Objects as they were at one moment."""

    members: Sequence[Member]

    @property
    def byte_count(self) -> int:
        """The size of the archive."""
        sizes = (len(each.header) + each.source.entry.size + each.padding for each in self.members)
        return sum(sizes) + len(_END)

    def chunks(self) -> Iterator[bytes]:
        """Yields the archive in pieces. Raises Gone at an object whose data is lost."""
        gathered: list[bytes] = []
        size = 0
        for chunk in self._parts():
            gathered.append(chunk)
            size += len(chunk)
            if size >= _PIECE_BYTES:
                yield b"".join(gathered)
                gathered, size = [], 0
        yield b"".join(gathered)

    def _parts(self) -> Iterator[bytes]:
        for member in self.members:
            yield from member.chunks()
        yield _END


class Archives:
    """Makes archives."""

    def __init__(self, core: Core, blocks: BlockStore, objects: Objects) -> None:
        self._core = core
        self._blocks = blocks
        self._objects = objects

    def make(
        self, repository: str, reference: str, paths: Mapping[str, ReadablePaths | None]
    ) -> Archive:
        """Returns an archive of objects at a reference, named relative to the deepest folder that
        has them all. A path that is empty or ends in a slash stands for all objects below it, of
        which `paths` says which are readable; None stands for all.

        Raises NotFound for a path without an object, Invalid for more than 10,000 objects and for
        one whose path is no name of a file.
        """
        at = self._objects.resolve(repository, reference)
        stored = self._core.repositories.get(repository)
        entries: dict[str, Entry] = {}
        folders = [path for path in paths if is_prefix(path)]
        for path, readable in paths.items():
            if path in folders and any(path != each and path.startswith(each) for each in folders):
                continue  # so that no folder is listed twice
            entries.update(self._entries(repository, reference, path, readable, at))
            if len(entries) > MAX_OBJECTS:
                raise Invalid(
                    f"an archive has at most {MAX_OBJECTS:,} objects",
                    kind="archive_too_large",
                    hint="Download smaller folders, or all of it by `anabranch fs download`.",
                )
        start = len(_common_folder(paths))
        return Archive(
            [
                Member(_header(path[start:], entry), OpenObject(stored, entry, self._blocks))
                for path, entry in entries.items()
            ]
        )

    def _entries(
        self,
        repository: str,
        reference: str,
        path: str,
        readable: ReadablePaths | None,
        at: Resolved,
    ) -> Iterator[tuple[str, Entry]]:
        if not is_prefix(path):
            yield path, self._objects.open(repository, reference, path, at=at).entry
            return
        found = 0
        for page in self._objects.pages(
            repository, reference, prefix=path, readable=readable, at=at
        ):
            for item in page.items:
                if isinstance(item, Stat):
                    yield item.path, item.entry
            found += len(page)
            if found > MAX_OBJECTS:
                return
        if not found:
            raise NotFound(f"there is no object below {path!r}", kind="object_not_found")


def _header(name: str, entry: Entry) -> bytes:
    """Returns what precedes the bytes of an object. A directory marker, which is empty and whose
    path ends in a slash, becomes a folder.
    """
    is_marker = name.endswith("/") and not entry.size
    if not is_plain(name.removesuffix("/") if is_marker else name):
        raise Invalid(
            f"{name!r} is not a valid path of a file",
            kind="unsafe_path",
            hint="Download this object alone.",
        )
    member = tarfile.TarInfo(name)
    member.size, member.mtime = entry.size, entry.mtime
    member.type, member.mode = (tarfile.DIRTYPE, 0o755) if is_marker else (tarfile.REGTYPE, 0o644)
    return member.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _common_folder(paths: Iterable[str]) -> str:
    """Returns the deepest folder that has all paths, with its slash; empty for the top."""
    folders = [path.removesuffix("/").split("/")[:-1] for path in paths]
    common = takewhile(lambda names: len(set(names)) == 1, zip(*folders, strict=False))
    return "".join(f"{names[0]}/" for names in common)
