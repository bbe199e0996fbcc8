"""An entry: what a repository knows of one object at one path."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

__all__ = ["DEFAULT_CONTENT_TYPE", "SYSTEM_PREFIX", "AddressType", "Entry"]
__all__ += ["physical_address", "user_metadata"]

DEFAULT_CONTENT_TYPE = "application/octet-stream"

SYSTEM_PREFIX = "::anabranch::"
"""How the keys of system metadata begin."""


class AddressType(enum.IntEnum):
    """How an entry's address is meant. BY_PREFIX is lakeFS's oldest form: full if it looks so."""

    BY_PREFIX = 0
    RELATIVE = 1
    FULL = 2


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One immutable object: where its bytes lie and what they are.

    `size` is in bytes, `mtime` in seconds since 1970, `checksum` is the hex MD5 of the content
    where we stored it and the store's ETag otherwise. `metadata` is the user's;
    `system_metadata` is what the server keeps with the object for itself, such as checksums: it is
    not shown to clients, and does not tell one content from another. In the entry's record both
    are one map, in which the keys of the latter begin with SYSTEM_PREFIX.
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
    """Returns the metadata that a client gives an object, without keys that are the server's."""
    if not metadata:
        return {}
    return {key: text for key, text in metadata.items() if not key.startswith(SYSTEM_PREFIX)}


def physical_address(storage_namespace: str, address: str, address_type: int) -> str:
    """Returns the full address of an entry's bytes."""
    full = address_type == AddressType.FULL or (
        address_type == AddressType.BY_PREFIX and "://" in address
    )
    return address if full else f"{storage_namespace.rstrip('/')}/{address}"
