"""Addresses in a local store, and their paths.

`local://NAMESPACE/KEY` is the file `ROOT/NAMESPACE/KEY`. Clients see it as
`local://ROOT/NAMESPACE/KEY`, which has three slashes because ROOT is absolute. Both forms name one
block. Paths are not normalised: an address that a file system would interpret (`..`, `//`, a
trailing slash) is rejected, so two addresses never share a file, and none points out of the root.

Storage namespaces are parsed like in lakeFS: empty segments and `.` are ignored, and a namespace is
in the root even with a leading slash. `local:///a//b/` is the folder `ROOT/a/b`; its blocks have
addresses below `local://a/b`, which `normalize_namespace` returns.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from anabranch.errors import Invalid

__all__ = [
    "QUARANTINE",
    "SCHEME",
    "TEMPORARY",
    "Place",
    "is_plain",
    "normalize_namespace",
    "parse_address",
    "parse_prefix",
    "relative_path",
]

SCHEME = "local://"

TEMPORARY = ".anabranch-temporary"
"""Folder in the root for files that are not blocks yet; it has no address."""

QUARANTINE = ".anabranch-quarantine"
"""Folder in a storage namespace for removed blocks that can be restored; it has no address.
`kernel.ordinary_place` accepts no address with a segment that starts with a dot.
"""

_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4_095

_NOT_PLAIN = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|\0")


class Place(NamedTuple):
    """Place of a block: its folder, relative to the root, and the file's name."""

    folder: str
    name: str

    @property
    def path(self) -> str:
        """The path relative to the root."""
        return f"{self.folder}/{self.name}" if self.folder else self.name


def is_plain(path: str) -> bool:
    """Returns whether a path has no empty segment, no `.` or `..`, and no zero byte."""
    # of most paths, which have none of these, the expression need not be tried
    inner = path != "" and path[0] not in "/." and path[-1] != "/"
    if inner and "/." not in path and "//" not in path and "\0" not in path:
        return True
    return _NOT_PLAIN.search(path) is None


def relative_path(address: str, root: str) -> str:
    """Returns the path in an address, without the scheme and the root.

    Raises Invalid for another scheme or another root. The path is not checked.
    """
    if not address.startswith(SCHEME):
        raise Invalid(f"{address}: not an address of this store", kind="invalid_address")
    path = address[len(SCHEME) :]
    if path.startswith("/"):
        if not path.startswith(f"{root}/"):
            raise Invalid(f"{address}: outside the store", kind="invalid_address")
        path = path[len(root) + 1 :]
    return path


def parse_address(address: str, root: str) -> Place:
    """Returns the place of a block, given its address in either form.

    Raises Invalid for an address of another store, outside the root, or that a file system cannot
    represent.
    """
    path = relative_path(address, root)
    _check(path, address, root)
    folder, _, name = path.rpartition("/")
    return Place(folder, name)


def parse_prefix(prefix: str, root: str) -> Place:
    """Returns the folder of all addresses with a prefix, and the prefix of their names in it.
    Raises Invalid as `parse_address` does; the prefix of a name may be anything.
    """
    folder, _, start = relative_path(prefix, root).rpartition("/")
    if folder:
        _check(folder, prefix, root)
    return Place(folder, start)


def normalize_namespace(storage_namespace: str, root: str) -> str:
    """Returns the address of a storage namespace's folder.

    Raises Invalid (kind invalid_storage_namespace) for the root itself, for `..`, and for names
    that a folder cannot hold.
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
            f"{address!r}: a segment is empty, '.', '..' or contains a zero byte, "
            "which a folder cannot hold",
            kind="invalid_address",
        )
    if path.startswith(TEMPORARY) and path.partition("/")[0] == TEMPORARY:
        raise Invalid(f"{address}: this folder is reserved for the store", kind="invalid_address")
    if QUARANTINE in path and QUARANTINE in path.split("/"):
        raise Invalid(f"{address}: this folder is reserved for the store", kind="invalid_address")
    if len(path) <= _MAX_NAME_BYTES and path.isascii():
        return
    try:
        encoded = path.encode()
    except UnicodeEncodeError as error:
        raise Invalid(f"{address!r}: not valid Unicode", kind="invalid_address") from error
    if (
        len(encoded) + len(root.encode()) >= _MAX_PATH_BYTES
        or max(map(len, encoded.split(b"/"))) > _MAX_NAME_BYTES
    ):
        raise Invalid(
            f"{address}: too long for a folder, where names have at most {_MAX_NAME_BYTES} bytes",
            kind="invalid_address",
        )
