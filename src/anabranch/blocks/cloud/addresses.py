"""Addresses in object stores: the bucket and the key that they name, without normalisation.

    s3://BUCKET/KEY    gs://BUCKET/KEY    https://ACCOUNT.blob.core.windows.net/CONTAINER/KEY

A key is any text: `//`, `..`, `?`, `%20` and a trailing slash are part of it. obstore accepts only
paths, which have no empty segment, no `.` or `..`, and no control characters. `is_path` tells
whether a key is a path, so that no key is ever changed on its way to the store.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from anabranch.errors import Invalid

__all__ = ["AddressParser", "Location", "is_path"]

_NO_PATH = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|[\x00-\x1f\x7f]")
_MAX_KEY_BYTES = 1_024


class Location(NamedTuple):
    """Location of a block; `root` is the address of its bucket, without a trailing slash."""

    root: str
    bucket: str
    key: str

    @property
    def address(self) -> str:
        """The address that this location was parsed from."""
        return f"{self.root}/{self.key}"


class AddressParser:
    """Parser for the addresses of one kind of store. `root` matches the address of a bucket and
    captures its name as `bucket`; `changed` matches keys that the store would change.
    """

    def __init__(self, root: str, *, changed: str = "") -> None:
        self._root = re.compile(f"({root})(?:/|\\Z)")
        self._changed = re.compile(changed) if changed else None

    def parse(self, address: str) -> Location:
        """Returns the location of a block. Raises Invalid for an address of another store, for one
        without a key, and for a key that the store does not preserve: longer than 1,024 bytes, not
        valid Unicode, or one that the store would change.
        """
        location = self.parse_prefix(address)
        if not location.key:
            raise Invalid(f"{address}: names a bucket without a key", kind="invalid_address")
        if self._changed and self._changed.search(location.key):
            raise Invalid(f"{address}: this store would change the key", kind="invalid_address")
        try:
            length = len(location.key.encode())
        except UnicodeEncodeError as error:
            raise Invalid(f"{address!r}: not valid Unicode", kind="invalid_address") from error
        if length > _MAX_KEY_BYTES:
            raise Invalid(
                f"{address}: the key has {length} bytes, object stores allow {_MAX_KEY_BYTES}",
                kind="invalid_address",
            )
        return location

    def parse_prefix(self, prefix: str) -> Location:
        """Returns the location whose key is the prefix of a key, which may be empty. Raises Invalid
        for an address of another store.
        """
        match = self._root.match(prefix)
        if match is None:
            raise Invalid(f"{prefix}: not an address of this store", kind="invalid_address")
        return Location(match[1], match["bucket"], prefix[match.end() :])

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace is an address of this store."""
        return self._root.match(storage_namespace) is not None


def is_path(key: str) -> bool:
    """Returns whether a key is a path: it has no empty segment, no `.` or `..`, and no control
    characters.
    """
    return _NO_PATH.search(key) is None
