"""The storage namespaces of repositories that are backed up and restored: each is of one alone.

If two had one, a garbage collection of either would remove the objects of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.repositories.repositories import MARK_KEY
from anabranch.errors import AlreadyExists, Conflict
from anabranch.keyvalue.contract import Expect, KeyValueStore
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.left_namespaces import LeftNamespaces, same_namespace

__all__ = ["mark_namespaces", "may_be_purged", "require_own_namespaces"]

_MARK = b"this is dummy data - restored from a backup by Anabranch\n"


def mark_namespaces(blocks: BlockStore, repositories: Sequence[Repository]) -> None:
    """Marks the storage namespaces as used, as the creation of a repository does: so that no other
    repository is created there.
    """
    for each in repositories:
        with suppress(AlreadyExists):  # it is where it was, or a restore is repeated
            blocks.put(f"{each.storage_namespace.rstrip('/')}/{MARK_KEY}", [_MARK], if_absent=True)


def require_own_namespaces(
    keyvalue: KeyValueStore,
    repositories: Sequence[Repository],
    clock: Callable[[], float],
) -> list[Expect]:
    """Returns the conditions on which repositories may be restored to their namespaces. Raises
    AlreadyExists (kind storage_namespace_in_use) if an existing one has one of these, and Conflict
    (kind purge_under_way) while one is purged.
    """
    left = LeftNamespaces(keyvalue, clock)
    # all are the condition that the record of purges does not change: the first is the oldest
    conditions = [left.require_unclaimed(each.storage_namespace) for each in repositories]
    existing = list(_repositories(keyvalue))
    for each in repositories:
        for other in existing:
            if same_namespace(other.storage_namespace, each.storage_namespace):
                raise AlreadyExists(
                    f"the repository {other.id} has the storage namespace "
                    f"{each.storage_namespace} of {each.id}",
                    kind="storage_namespace_in_use",
                    hint="Restore to a new data folder, or delete that repository before.",
                )
    return conditions[:1]


def may_be_purged(core: Core, repository: Repository) -> bool:
    """Returns whether files in the namespace of a repository may have been removed: by a purge that
    goes on, or that has ended.
    """
    raw = core.keyvalue.get(keys.GRAVELER, keys.repository(repository.id))
    if raw and references.repository_from(raw).instance_uid == repository.instance_uid:
        return False  # purges delete it before they remove anything
    namespaces = core.repositories.left
    left = namespaces.find(repository.storage_namespace)
    if left is None or left.instance_uid != repository.instance_uid:
        return True
    try:
        namespaces.require_unclaimed(repository.storage_namespace)
    except Conflict:
        return True
    return False


def _repositories(keyvalue: KeyValueStore) -> Iterator[Repository]:
    start = keys.repository("")
    for _, raw in keyvalue.scan(keys.GRAVELER, start, upper_bound(start)):
        yield references.repository_from(raw)
