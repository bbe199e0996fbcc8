"""Purges: the removal of the data of deleted repositories."""

from __future__ import annotations

import msgspec

__all__ = ["LeftNamespace", "PurgeResult"]


class LeftNamespace(msgspec.Struct, frozen=True, kw_only=True):
    """The storage namespace of a deleted repository, which still has the repository's data:
    `storage_namespace` as the prefix of addresses, `written_namespace` as clients see it.
    `deleted_at` is in seconds since 1970, `instance_uid` that of the repository.
    """

    storage_namespace: str
    written_namespace: str
    repository: str
    instance_uid: str
    default_branch: str
    deleted_at: float


class PurgeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a purge has removed: `objects`, with the files of tables of the Iceberg catalog, their
    `bytes`, and `tables`, the files with the history. `kept` objects in the namespace are not the
    repository's.
    """

    storage_namespace: str
    repository: str
    objects: int
    bytes: int
    tables: int
    kept: int
