"""Addresses of a local folder, and the paths they stand for.

`local://NAMESPACE/KEY` lies at `ROOT/NAMESPACE/KEY`; clients are shown it as
`local://ROOT/NAMESPACE/KEY`, which, as ROOT is absolute, has three slashes. Either form means the
same block. A path is the address to the letter or there is none: what a file system would read as
something else (`..`, `//`, a slash at the end) is refused, so no two addresses share a file and
none leads out of the root.

A storage namespace is read more freely, as lakeFS reads it: empty names and `.` in it do not count,
and it lies in the root also where a slash stands first. `local:///a//b/` is the folder `ROOT/a/b`;
what it keeps has addresses below `local://a/b`, the one spelling that `namespace_of` returns.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from anabranch.errors import Invalid

__all__ = [
    "SCHEME",
    "TEMPORARY",
    "Place",
    "is_plain",
    "namespace_of",
    "place_of",
    "prefix_of",
    "relative_path",
]

SCHEME = "local://"

TEMPORARY = ".anabranch-temporary"
"""The folder in the root for files that are no blocks yet; nothing in it has an address."""

_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4_095

_NO_NAME = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|\0")


class Place(NamedTuple):
    """Where a block lies: the folder, relative to the root ("" is the root), and the file's
    name in it.
    """

    folder: str
    name: str

    @property
    def path(self) -> str:
        """The path relative to the root."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


def is_plain(path: str) -> bool:
    """Returns whether a path says what it means: no name in it is empty, `.` or `..`."""
    return _NO_NAME.search(path) is None


def relative_path(address: str, root: str) -> str:
    """Returns what stands in an address after the scheme and, if it is there, the root.

    Raises Invalid for another scheme or another root. What is returned is not checked.
    """
    if not address.startswith(SCHEME):
        raise Invalid(f"{address}: not an address of this store", kind="invalid_address")
    path = address[len(SCHEME) :]
    if path.startswith("/"):
        if not path.startswith(f"{root}/"):
            raise Invalid(f"{address}: outside the store", kind="invalid_address")
        path = path[len(root) + 1 :]
    return path


def place_of(address: str, root: str) -> Place:
    """Returns where the block of an address lies, in either form.

    Raises Invalid for an address that is not this store's, leads out of it, or that a file system
    cannot express.
    """
    path = relative_path(address, root)
    _check(path, address, root)
    folder, _, name = path.rpartition("/")
    return Place(folder, name)


def prefix_of(prefix: str, root: str) -> Place:
    """Returns the folder in which all addresses with a prefix lie, and how their names in it
    begin. Raises Invalid as `place_of` does; the beginning of a name may be anything.
    """
    folder, _, start = relative_path(prefix, root).rpartition("/")
    if folder:
        _check(folder, prefix, root)
    return Place(folder, start)


def namespace_of(storage_namespace: str, root: str) -> str:
    """Returns the address of a storage namespace's folder.

    Raises Invalid (kind invalid_storage_namespace) for the root itself, for `..`, and for names
    that a folder cannot keep.
    """
    path = storage_namespace.removeprefix(SCHEME)
    if path.startswith(f"{root}/"):
        path = path[len(root) + 1 :]
    joined = "/".join(name for name in path.split("/") if name not in {"", "."})
    try:
        _check(joined, storage_namespace, root)
    except Invalid as error:
        raise Invalid(
            f"{error.message}: invalid namespace", kind="invalid_storage_namespace"
        ) from error
    return SCHEME + joined


def _check(path: str, address: str, root: str) -> None:
    if not is_plain(path):
        raise Invalid(
            f"{address!r}: a name in it is empty, '.', '..' or holds a zero byte, "
            "which a folder cannot keep",
            kind="invalid_address",
        )
    if path.startswith(TEMPORARY) and path.partition("/")[0] == TEMPORARY:
        raise Invalid(f"{address}: this folder is the store's own", kind="invalid_address")
    if len(path) <= _MAX_NAME_BYTES and path.isascii():
        return
    try:
        encoded = path.encode()
    except UnicodeEncodeError as error:
        raise Invalid(f"{address!r}: not a text of Unicode", kind="invalid_address") from error
    if (
        len(encoded) + len(root.encode()) >= _MAX_PATH_BYTES
        or max(map(len, encoded.split(b"/"))) > _MAX_NAME_BYTES
    ):
        raise Invalid(
            f"{address}: too long for a folder, which keeps names of {_MAX_NAME_BYTES} bytes",
            kind="invalid_address",
        )
