"""Objects as the wire shows them."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.model.stat import Stat
from anabranch.rest.diffs import PathType
from anabranch.rest.pagination import Pagination

__all__ = ["ObjectStats", "ObjectStatsList", "object_stats"]


class ObjectStats(msgspec.Struct, frozen=True):
    """An object; `size_bytes` in bytes, `mtime` in seconds since 1970."""

    checksum: str
    mtime: int
    path: str
    path_type: PathType
    physical_address: str
    content_type: str | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    physical_address_expiry: int | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET


class ObjectStatsList(msgspec.Struct, frozen=True):
    """A page of objects and common prefixes."""

    pagination: Pagination
    results: list[ObjectStats]


def object_stats(stat: Stat, *, user_metadata: bool = True) -> ObjectStats:
    """Returns an object as the wire shows it."""
    entry = stat.entry
    return ObjectStats(
        checksum=entry.checksum,
        content_type=entry.content_type,
        metadata=entry.metadata if user_metadata else UNSET,
        mtime=entry.mtime,
        path=stat.path,
        path_type="object",
        physical_address=stat.physical_address,
        size_bytes=entry.size,
    )
