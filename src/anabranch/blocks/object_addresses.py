"""Addresses in object stores: which bucket and which key they name, letter by letter.

    s3://BUCKET/KEY    gs://BUCKET/KEY    https://ACCOUNT.blob.core.windows.net/CONTAINER/KEY

A key is any text: `//`, `..`, `?`, `%20` and a slash at its end are part of it. The library that
speaks to most stores has paths instead, without empty names, `.`, `..` and control characters;
`is_path` says whether a key is one, so that none is ever changed on its way.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from anabranch.errors import Invalid

__all__ = ["AddressForm", "Location", "is_path"]

_NO_PATH = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|[\x00-\x1f\x7f]")
_MAX_KEY_BYTES = 1_024


class Location(NamedTuple):
    """Where a block lies; `root` is the address of its bucket, without a slash at the end."""

    root: str
    bucket: str
    key: str

    @property
    def address(self) -> str:
        """The address, as it was given."""
        return f"{self.root}/{self.key}"


class AddressForm:
    """How a kind of store writes addresses. `root` matches a bucket's own, whose last name it
    captures as `bucket`; `changed` finds what the store itself would change in keys.
    """

    def __init__(self, root: str, *, changed: str = "") -> None:
        self._root = re.compile(f"({root})(?:/|\\Z)")
        self._changed = re.compile(changed) if changed else None

    def block(self, address: str) -> Location:
        """Returns where a block lies. Raises Invalid for another store's address, for a bucket
        alone, and for a key that the store does not keep to the letter: over 1,024 bytes, no
        Unicode, or one that it would change.
        """
        location = self.beginning(address)
        if not location.key:
            raise Invalid(f"{address}: names a bucket and no key in it", kind="invalid_address")
        if self._changed and self._changed.search(location.key):
            raise Invalid(
                f"{address}: this store would keep another key than this", kind="invalid_address"
            )
        try:
            length = len(location.key.encode())
        except UnicodeEncodeError as error:
            raise Invalid(f"{address!r}: not a text of Unicode", kind="invalid_address") from error
        if length > _MAX_KEY_BYTES:
            raise Invalid(
                f"{address}: the key has {length} bytes, object stores keep {_MAX_KEY_BYTES}",
                kind="invalid_address",
            )
        return location

    def beginning(self, prefix: str) -> Location:
        """Returns the bucket of all addresses that begin so, and how their keys begin. Raises
        Invalid for another store's.
        """
        match = self._root.match(prefix)
        if match is None:
            raise Invalid(f"{prefix}: not an address of this store", kind="invalid_address")
        return Location(match[1], match["bucket"], prefix[match.end() :])

    def accepts(self, storage_namespace: str) -> bool:
        """Returns whether a storage namespace has this form."""
        return self._root.match(storage_namespace) is not None


def is_path(key: str) -> bool:
    """Returns whether a key is a path: no name in it is empty, `.` or `..`, nor holds controls."""
    return _NO_PATH.search(key) is None
