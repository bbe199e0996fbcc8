"""Entries: a repository's records of objects."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

__all__ = ["DEFAULT_CONTENT_TYPE", "SYSTEM_PREFIX", "AddressType", "Entry"]
__all__ += ["physical_address", "relative_address", "user_metadata"]

DEFAULT_CONTENT_TYPE = "application/octet-stream"

SYSTEM_PREFIX = "::anabranch::"
"""The prefix of the keys of system metadata."""


class AddressType(enum.IntEnum):
    """Whether an entry's address is relative or full. BY_PREFIX, lakeFS's oldest form, is full if
    the address contains `://`.
    """

    BY_PREFIX = 0
    RELATIVE = 1
    FULL = 2


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable object: the address, size and checksum of its bytes, and its metadata.

    `size` is in bytes, `mtime` in seconds since 1970; `checksum` is the hex MD5 of content that
    Anabranch has stored, else the object store's ETag. `metadata` is the user's. `system_metadata`
    is for the server's own use, such as checksums: it is not shown to clients, and not part of the
    entry's identity. In the entry's record both are one map, in which the keys of system metadata
    begin with SYSTEM_PREFIX.
    """

    address: str
    address_type: int = AddressType.RELATIVE
    size: int
    mtime: int
    checksum: str
    metadata: dict[str, str] = {}
    content_type: str = DEFAULT_CONTENT_TYPE
    mtime_nanos: int = 0
    system_metadata: dict[str, str] = {}


def user_metadata(metadata: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the metadata that a client sends for an object, without keys of system metadata."""
    if not metadata:
        return {}
    return {key: text for key, text in metadata.items() if not key.startswith(SYSTEM_PREFIX)}


def physical_address(storage_namespace: str, address: str, address_type: int) -> str:
    """Returns the full address of an entry's bytes."""
    full = address_type == AddressType.FULL or (
        address_type == AddressType.BY_PREFIX and "://" in address
    )
    return address if full else f"{storage_namespace.rstrip('/')}/{address}"


def relative_address(storage_namespace: str, address: str) -> str | None:
    """Returns a full address relative to a repository, None if it is not in its data."""
    namespace = f"{storage_namespace.rstrip('/')}/"
    return address.removeprefix(namespace) if address.startswith(f"{namespace}data/") else None
