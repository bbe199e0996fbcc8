"""Files of this machine outside of the store, which imports list and clients then read.

The address of a file is its absolute path, `local:///data/raw/a.csv`. Only files below the prefixes
in the settings are accessible. Each folder on the path is opened relative to its parent and without
following symbolic links, so nothing outside of a prefix is accessible even if folders are replaced
meanwhile, and links cannot form loops. The prefix itself may be or contain a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockInfo
from anabranch.blocks.external_objects import ExternalObject, base_length
from anabranch.blocks.local.errors import NOT_THERE, gone_error, translate_error
from anabranch.blocks.local.paths import SCHEME, is_plain
from anabranch.blocks.local.range_reader import RangeReader
from anabranch.errors import Busy, Denied, Invalid, NotFound

__all__ = ["LocalExternalObjects"]

_ABSOLUTE = f"{SCHEME}/"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


class LocalExternalObjects:
    """The files below some folders. `store` is the folder of the store: if a prefix contains it by
    a symbolic link, its objects are not accessible by that path, because garbage collection does
    not know such addresses and would remove the objects. Raises Invalid for a prefix that is not an
    absolute path.
    """

    def __init__(self, prefixes: Sequence[str], store: str) -> None:
        for prefix in prefixes:
            below = prefix.strip("/")
            if not prefix.startswith("/") or (below and not is_plain(below)):
                raise Invalid(
                    f"{prefix!r}: not an absolute path of a folder",
                    kind="invalid_settings",
                    hint="Write blockstore.local.allowed_external_prefixes as /data/raw.",
                )
        self._prefixes = tuple(prefix.rstrip("/") for prefix in prefixes)
        self._aliases = tuple(filter(None, (_alias(each, store) for each in self._prefixes)))

    def owns(self, address: str) -> bool:
        """Returns whether an address is below one of the prefixes."""
        return bool(self._prefixes) and self._prefix(address) is not None

    def check(self, address: str) -> None:
        """Raises Invalid unless the path is absolute, Denied unless it is below a prefix."""
        if address.removeprefix(SCHEME) not in self._prefixes:
            self._split_address(address)

    def list(self, prefix: str) -> Iterator[ExternalObject]:
        """Yields the files whose address starts with `prefix`, in order. A trailing slash of a
        folder may be left out. Links and special files are ignored. Raises NotFound for a missing
        folder, Busy for one that cannot be read.
        """
        prefix = self.prefix(prefix)
        root, below = self._split_address(prefix)
        folder, _, start = below.rpartition("/")
        base = prefix[: base_length(prefix)]
        try:
            with _open_folder(root, folder) as descriptor:
                for file in _walk(descriptor, base, start):
                    if not self._is_alias(file.address[len(SCHEME) :]):
                        yield file
        except NOT_THERE as error:
            raise NotFound(f"{base}: there is no such folder", kind="source_not_found") from error
        except OSError as error:
            raise _unreadable(error, base) from error

    def prefix(self, text: str) -> str:
        """Returns the prefix of addresses that a text stands for: with a trailing slash if it is a
        folder, else the text itself. Raises as `check` does.
        """
        if text.endswith("/"):
            return text
        if text.removeprefix(SCHEME) in self._prefixes:
            return f"{text}/"
        self._split_address(text)
        try:
            is_folder = stat.S_ISDIR(self._status(text).st_mode)
        except OSError:
            is_folder = False
        return f"{text}/" if is_folder else text

    def children(self, prefix: str) -> Sequence[str]:
        """Returns the addresses of the direct children of a folder that start with `prefix`, in
        order; those of folders have a trailing slash. Raises as `list` does.
        """
        prefix = self.prefix(prefix)
        root, below = self._split_address(prefix)
        folder, _, start = below.rpartition("/")
        base = prefix[: base_length(prefix)]
        try:
            with _open_folder(root, folder) as descriptor:
                return [base + name for name in reversed(_names(descriptor, start))]
        except NOT_THERE as error:
            raise NotFound(f"{base}: there is no such folder", kind="source_not_found") from error
        except OSError as error:
            raise _unreadable(error, base) from error

    def find(self, address: str) -> ExternalObject:
        """Returns the file at an address. Raises NotFound if it does not exist."""
        self._split_address(address)
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
        """Returns the file at an address that this store owns, or None."""
        try:
            status = self._status(address)
        except NOT_THERE:
            return None
        except OSError as error:
            raise translate_error(error, address) from error
        if not stat.S_ISREG(status.st_mode):
            return None
        return BlockInfo(address, status.st_size, int(status.st_mtime))

    def open(self, address: str, start: int, length: int | None) -> RangeReader:
        """Returns a reader of a file at an address that this store owns. Raises Gone if the file is
        missing or shorter than the range.
        """
        root, below = self._split_address(address)
        folder, _, name = below.rpartition("/")
        try:
            with _open_folder(root, folder) as descriptor:
                return RangeReader(name, address, start, length, folder=descriptor)
        except NOT_THERE as error:
            raise gone_error(address) from error
        except OSError as error:
            raise translate_error(error, address) from error

    def _status(self, address: str) -> os.stat_result:
        root, below = self._split_address(address)
        folder, _, name = below.rpartition("/")
        descriptor = _open(root, folder)
        try:
            return os.stat(name or ".", dir_fd=descriptor, follow_symlinks=False)
        finally:
            os.close(descriptor)

    def _split_address(self, address: str) -> tuple[str, str]:
        """Returns the prefix that an address is below, and its path relative to that."""
        if not address.startswith(f"{SCHEME}/"):
            raise Invalid(
                f"{address}: invalid import source: not a folder of this machine",
                kind="invalid_import_source",
                hint="Use its absolute path, such as local:///data/raw/.",
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

    def _is_alias(self, path: str) -> bool:
        """Returns whether a path leads into the store by a link."""
        return any(f"{path}/".startswith(f"{alias}/") for alias in self._aliases)

    def _prefix(self, address: str) -> str | None:
        if not address.startswith(_ABSOLUTE):
            return None
        path = address[len(SCHEME) :]
        if not is_plain(path[1:].removesuffix("/")) or (self._aliases and self._is_alias(path)):
            return None
        # no generator: each read of an imported object asks
        for prefix in self._prefixes:
            if path.startswith(f"{prefix}/"):
                return prefix
        return None


@contextmanager
def _open_folder(root: str, folder: str) -> Iterator[int]:
    """Gives a descriptor of a folder, as `_open` returns it."""
    descriptor = _open(root, folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open(root: str, folder: str) -> int:
    """Returns a descriptor of a folder below `root`, opened without following links, which the
    caller closes.
    """
    at_once = kernel.open_folder_beneath(root or "/", folder)
    if at_once is not None:
        return at_once
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for name in filter(None, folder.split("/")):
        above = descriptor
        try:
            descriptor = os.open(name, _FOLDER, dir_fd=above)
        finally:
            os.close(above)
    return descriptor


def _walk(top: int, base: str, start: str) -> Iterator[ExternalObject]:
    """Yields the files below an open folder whose path starts with `start`, in order. Holds a
    descriptor and the names of one folder per level.
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
                continue  # removed or replaced by a link meanwhile
            levels.append((below, folder + name, []))
            levels[-1][2].extend(_names(below, ""))
    finally:
        for descriptor, _, _ in levels[1:]:
            os.close(descriptor)


def _files(descriptor: int, folder: str, names: list[str], base: str) -> Iterator[ExternalObject]:
    """Yields the files at the end of a folder's names, up to the next folder, and removes them."""
    get_status, is_file = os.stat, stat.S_ISREG
    while names and names[-1][-1] != "/":
        name = names.pop()
        try:
            status = get_status(name, dir_fd=descriptor, follow_symlinks=False)
        except NOT_THERE:
            continue
        if is_file(status.st_mode):
            path = folder + name
            yield _source(path.encode("utf-8", "surrogateescape"), base + path, status)


def _names(descriptor: int, start: str) -> list[str]:
    """Returns the names in a folder with a prefix, in descending order; those of folders have a
    trailing slash, so that they sort like their files.
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


def _source(name: bytes, address: str, status: os.stat_result) -> ExternalObject:
    size, mtime = status.st_size, status.st_mtime_ns
    # the bytes are not read, so this is not an MD5 and must not look like one
    return ExternalObject(name, address, size, mtime, f"{mtime:x}-{size:x}")


def _unreadable(error: OSError, address: str) -> Busy:
    name = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return Busy(
        f"{address}{name}: {error.strerror}",
        kind="storage_failed",
        hint="Check the permissions of the folder.",
    )


def _alias(prefix: str, store: str) -> str:
    """Returns the path by which a link makes the store accessible below a prefix, or ""."""
    real = os.path.realpath(prefix or "/").rstrip("/")
    if real == prefix:
        return ""
    if f"{real}/".startswith(f"{store}/"):
        return prefix
    return prefix + store.removeprefix(real) if store.startswith(f"{real}/") else ""
