"""The paths that a table's metadata mean by their addresses.

Spark and catalogs write addresses with a scheme, a bucket and the branch on which they wrote. After
a merge, the files are at the same paths of another branch. So an address stands for a path, which
is read at the reference from which the metadata were read. An address in another repository, or in
no repository, is refused by name.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

import msgspec

from anabranch.tables.live_rows.refusals import unreadable

__all__ = ["TablePlace", "is_absolute"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/*")
_LAKE_SCHEMES = frozenset(("lakefs", "s3", "s3a", "s3n"))
_S3_SCHEMES = frozenset(("s3a", "s3n"))


def is_absolute(address: str) -> bool:
    """Returns whether an address is more than a path in the table's folder."""
    return address.startswith("/") or _SCHEME.match(address) is not None


class TablePlace(msgspec.Struct, frozen=True):
    """The place of a table: a repository and a folder, with a slash at its end unless it is the
    root. `location` is the address of the folder in the metadata, "" if they have none.
    """

    repository: str
    folder: str
    location: str = ""

    def at(self, location: str) -> TablePlace:
        """Returns the place with the address that the metadata have for it."""
        return TablePlace(self.repository, self.folder, location)

    def path(self, address: str) -> str:
        """Returns the path of the object with an address. Raises Invalid for an address outside of
        the repository, and for one with segments that mean other folders.
        """
        path = self._path(address)
        if not path or path.endswith("/") or {".", ".."}.intersection(path.split("/")):
            raise unreadable(f"the table refers to {address!r}, which is no path of an object")
        return path

    def path_of_uri(self, uri: str) -> str:
        """Returns the path of the object with a URI, whose relative form has escapes."""
        return self.path(uri if is_absolute(uri) else unquote(uri))

    def _path(self, address: str) -> str:
        if not is_absolute(address):
            return self.folder + address
        inside = _below(address, self.location) if self.location else None
        if inside is not None:
            return self.folder + inside
        scheme = _SCHEME.match(address)
        if scheme is not None and scheme[1].lower() in _LAKE_SCHEMES:
            bucket, _, key = address[scheme.end() :].partition("/")
            reference, _, path = key.partition("/")
            if bucket == self.repository and reference and path:
                return path
        raise unreadable(
            f"the table refers to {address}, which is outside of the repository {self.repository}",
            "Only files of the same repository are read, at the same reference.",
        )


def _below(address: str, location: str) -> str | None:
    """Returns the path of an address below another, None if it is not below it. Schemes of S3 are
    the same, and `file:/a` is `file:///a`.
    """
    one, other = _normal(address), _normal(location).rstrip("/") + "/"
    return one[len(other) :] if one.startswith(other) else None


def _normal(address: str) -> str:
    found = _SCHEME.match(address)
    if found is None:
        return f"file:/{address.lstrip('/')}"
    scheme = found[1].lower()
    return f"{'s3' if scheme in _S3_SCHEMES else scheme}:/{address[found.end() :]}"
