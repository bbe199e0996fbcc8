"""Repositories: a name, a storage namespace and a default branch."""

from __future__ import annotations

import msgspec

__all__ = ["Repository"]


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository; `creation_date` in seconds since 1970, `instance_uid` changes when a deleted
    name is created again.

    `storage_namespace` is the prefix of the addresses of its blocks. Clients see it as they wrote
    it, which is `written_namespace` if the two differ (`local://data//name`).
    """

    id: str
    storage_namespace: str
    default_branch: str
    creation_date: int
    instance_uid: str
    read_only: bool = False
    in_deletion: bool = False
    storage_id: str = ""
    written_namespace: str = ""

    @property
    def shown_namespace(self) -> str:
        """The storage namespace as clients see it."""
        return self.written_namespace or self.storage_namespace

    @property
    def partition(self) -> str:
        """The key-value partition that holds the repository's references."""
        return f"{self.id}-{self.instance_uid}"
