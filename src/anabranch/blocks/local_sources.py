"""Folders of this machine outside of the store: what imports may list, and readers then read.

An address names a file by its absolute path, `local:///data/raw/a.csv`. It is followed only below
one of the prefixes that the settings allow, folder by folder, each opened from the one above it
and none through a symbolic link: whatever happens to the folders meanwhile, nothing outside of a
prefix is ever seen, and links that form a loop are links like all others. The prefix itself is the
administrator's word, and may be or hold a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from anabranch.blocks.contract import BlockInfo
from anabranch.blocks.local_errors import NOT_THERE, gone, translate
from anabranch.blocks.local_paths import SCHEME, is_plain
from anabranch.blocks.local_pieces import Pieces
from anabranch.blocks.sources import Source, base_length
from anabranch.errors import Busy, Denied, Invalid, NotFound

__all__ = ["LocalSources"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class LocalSources:
    """The files below some folders. Raises Invalid for a prefix that is no absolute path."""

    def __init__(self, prefixes: Sequence[str]) -> None:
        for prefix in prefixes:
            below = prefix.strip("/")
            if not prefix.startswith("/") or (below and not is_plain(below)):
                raise Invalid(
                    f"{prefix!r}: no absolute path of a folder",
                    kind="invalid_settings",
                    hint="Write blockstore.local.allowed_external_prefixes as /data/raw.",
                )
        self._prefixes = tuple(prefix.rstrip("/") for prefix in prefixes)

    def owns(self, address: str) -> bool:
        """Returns whether an address is a file's below one of the prefixes."""
        return bool(self._prefixes) and self._prefix(address) is not None

    def check(self, address: str) -> None:
        """Raises Invalid for what is no absolute path, Denied for one below no prefix."""
        if address.removeprefix(SCHEME) not in self._prefixes:
            self._allowed(address)

    def list(self, prefix: str) -> Iterator[Source]:
        """Yields the files whose address begins so, in order; those of a folder that is named
        without a slash as of one with it. Links, and what is no file, are passed over. Raises
        NotFound where there is no such folder, Busy where one cannot be read.
        """
        prefix = self.prefix(prefix)
        root, below = self._allowed(prefix)
        folder, _, start = below.rpartition("/")
        base = prefix[: base_length(prefix)]
        try:
            with _opened(root, folder) as descriptor:
                yield from _walk(descriptor, base, start)
        except NOT_THERE as error:
            raise NotFound(f"{base}: there is no such folder", kind="source_not_found") from error
        except OSError as error:
            raise _unreadable(error, base) from error

    def prefix(self, text: str) -> str:
        """Returns how the addresses begin of what a text names: of all in a folder, also if the
        folder is named without a slash, else of all that begin so. Raises as `check` does.
        """
        if text.endswith("/"):
            return text
        if text.removeprefix(SCHEME) in self._prefixes:
            return f"{text}/"
        self._allowed(text)
        try:
            is_folder = stat.S_ISDIR(self._status(text).st_mode)
        except OSError:
            is_folder = False
        return f"{text}/" if is_folder else text

    def children(self, prefix: str) -> Sequence[str]:
        """Returns the addresses that begin so of what lies directly in a folder, in order; those
        of folders end with a slash. Raises as `list` does.
        """
        prefix = self.prefix(prefix)
        root, below = self._allowed(prefix)
        folder, _, start = below.rpartition("/")
        base = prefix[: base_length(prefix)]
        try:
            with _opened(root, folder) as descriptor:
                return [base + name for name in reversed(_names(descriptor, start))]
        except NOT_THERE as error:
            raise NotFound(f"{base}: there is no such folder", kind="source_not_found") from error
        except OSError as error:
            raise _unreadable(error, base) from error

    def find(self, address: str) -> Source:
        """Returns the file at an address. Raises NotFound where there is none."""
        self._allowed(address)
        try:
            status = self._status(address)
        except NOT_THERE:
            status = None
        except OSError as error:
            raise _unreadable(error, address) from error
        if status is None or not stat.S_ISREG(status.st_mode):
            raise NotFound(f"{address}: there is no such file", kind="source_not_found")
        return _source(b"", address, status)

    def stat(self, address: str) -> BlockInfo | None:
        """Returns what is at an address that is owned, or None."""
        try:
            status = self._status(address)
        except NOT_THERE:
            return None
        except OSError as error:
            raise translate(error, address) from error
        if not stat.S_ISREG(status.st_mode):
            return None
        return BlockInfo(address, status.st_size, int(status.st_mtime))

    def open(self, address: str, start: int, length: int | None) -> Pieces:
        """Returns the bytes at an address that is owned, from `start`, to the end or `length` of
        them. Raises Gone when there is nothing there or it is shorter.
        """
        root, below = self._allowed(address)
        folder, _, name = below.rpartition("/")
        try:
            with _opened(root, folder) as descriptor:
                return Pieces(name, address, start, length, folder=descriptor)
        except NOT_THERE as error:
            raise gone(address) from error
        except OSError as error:
            raise translate(error, address) from error

    def _status(self, address: str) -> os.stat_result:
        root, below = self._allowed(address)
        folder, _, name = below.rpartition("/")
        with _opened(root, folder) as descriptor:
            return os.stat(name or ".", dir_fd=descriptor, follow_symlinks=False)

    def _allowed(self, address: str) -> tuple[str, str]:
        """Returns the prefix that an address lies below, and its path from there."""
        if not address.startswith(f"{SCHEME}/"):
            raise Invalid(
                f"{address}: invalid import source: no folder of this machine",
                kind="invalid_import_source",
                hint="Name it by its absolute path, as local:///data/raw/.",
            )
        prefix = self._prefix(address)
        if prefix is None:
            raise Denied(
                f"{address}: path is not in allowed external prefixes",
                kind="source_forbidden",
                hint="The setting blockstore.local.allowed_external_prefixes names the folders "
                "that imports may read.",
            )
        return prefix or "/", address[len(SCHEME) + len(prefix) + 1 :]

    def _prefix(self, address: str) -> str | None:
        path = address[len(SCHEME) :]
        if not address.startswith(f"{SCHEME}/") or not is_plain(path[1:].removesuffix("/")):
            return None
        return next((each for each in self._prefixes if path.startswith(f"{each}/")), None)


@contextmanager
def _opened(root: str, folder: str) -> Iterator[int]:
    """Gives a descriptor of a folder below `root`; no name on the way may be a link."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in filter(None, folder.split("/")):
            above, descriptor = descriptor, os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(above)
        yield descriptor
    finally:
        os.close(descriptor)


def _walk(top: int, base: str, start: str) -> Iterator[Source]:
    """Yields the files of an open folder and those below it whose names begin so, in order. Holds
    a descriptor and the names of one folder at each depth.
    """
    levels = [(top, "", _names(top, start))]
    try:
        while levels:
            descriptor, folder, names = levels[-1]
            yield from _files(descriptor, folder, names, base)
            if not names:
                levels.pop()
                if levels:
                    os.close(descriptor)
                continue
            name = names.pop()
            try:
                below = os.open(name[:-1], _FOLDER, dir_fd=descriptor)
            except NOT_THERE:
                continue  # removed meanwhile, or a link by now
            levels.append((below, folder + name, []))
            levels[-1][2].extend(_names(below, ""))
    finally:
        for descriptor, _, _ in levels[1:]:
            os.close(descriptor)


def _files(descriptor: int, folder: str, names: list[str], base: str) -> Iterator[Source]:
    """Takes the files from the end of a folder's names, up to the next folder, and yields them."""
    look, is_file = os.stat, stat.S_ISREG
    while names and names[-1][-1] != "/":
        name = names.pop()
        try:
            status = look(name, dir_fd=descriptor, follow_symlinks=False)
        except NOT_THERE:
            continue
        if is_file(status.st_mode):
            path = folder + name
            yield _source(path.encode("utf-8", "surrogateescape"), base + path, status)


def _names(descriptor: int, start: str) -> list[str]:
    """Returns the names in a folder that begin so, the last one first; folders' end in a slash,
    by which they sort as their files do.
    """
    names = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                names.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                names.append(f"{entry.name}/")
    if start:
        names = [name for name in names if name.startswith(start)]
    names.sort(reverse=True)
    return names


def _source(name: bytes, address: str, status: os.stat_result) -> Source:
    size, mtime = status.st_size, status.st_mtime_ns
    # nobody reads the bytes; this is no MD5, and must not look like one to those who check
    return Source(name, address, size, mtime, f"{mtime:x}-{size:x}")


def _unreadable(error: OSError, address: str) -> Busy:
    name = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return Busy(
        f"{address}{name}: {error.strerror}",
        kind="storage_failed",
        hint="Look at the permissions of the folder.",
    )
