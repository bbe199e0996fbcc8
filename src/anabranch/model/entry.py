"""An entry: what a repository knows of one object at one path."""

from __future__ import annotations

import enum

import msgspec

__all__ = ["DEFAULT_CONTENT_TYPE", "AddressType", "Entry", "physical_address"]

DEFAULT_CONTENT_TYPE = "application/octet-stream"


class AddressType(enum.IntEnum):
    """How an entry's address is meant. BY_PREFIX is lakeFS's oldest form: full if it looks so."""

    BY_PREFIX = 0
    RELATIVE = 1
    FULL = 2


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One immutable object: where its bytes lie and what they are.

    `size` is in bytes, `mtime` in seconds since 1970, `checksum` is the hex MD5 of the content
    where we stored it and the store's ETag otherwise.
    """

    address: str
    address_type: int = AddressType.RELATIVE
    size: int
    mtime: int
    checksum: str
    metadata: dict[str, str] = {}
    content_type: str = DEFAULT_CONTENT_TYPE
    mtime_nanos: int = 0


def physical_address(storage_namespace: str, address: str, address_type: int) -> str:
    """Returns the full address of an entry's bytes."""
    full = address_type == AddressType.FULL or (
        address_type == AddressType.BY_PREFIX and "://" in address
    )
    return address if full else f"{storage_namespace.rstrip('/')}/{address}"
