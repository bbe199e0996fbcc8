"""Schemas of objects."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from anabranch.catalog.presigning.presigning import Presigned
from anabranch.model.objects.stat import Stat
from anabranch.rest.schemas.diffs import PathType
from anabranch.rest.schemas.pagination import Pagination

__all__ = ["ObjectStats", "ObjectStatsList", "common_prefix", "object_stats"]


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


def object_stats(
    stat: Stat, *, user_metadata: bool = True, presigned: Presigned | None = None
) -> ObjectStats:
    """Returns an object as the wire shows it; where it is read from a presigned URL, that stands
    in the place of its address.
    """
    entry = stat.entry
    return ObjectStats(
        checksum=entry.checksum,
        content_type=entry.content_type,
        metadata=entry.metadata if user_metadata else UNSET,
        mtime=entry.mtime,
        path=stat.path,
        path_type="object",
        physical_address=stat.physical_address if presigned is None else presigned.url,
        physical_address_expiry=UNSET if presigned is None else presigned.expires,
        size_bytes=entry.size,
    )


def common_prefix(path: str) -> ObjectStats:
    """Returns the schema of a common prefix in a list of objects."""
    return ObjectStats(
        checksum="",
        mtime=0,
        path=path,
        path_type="common_prefix",
        physical_address="",
        size_bytes=0,
    )
