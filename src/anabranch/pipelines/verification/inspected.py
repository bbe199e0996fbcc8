"""The references of an installation at one moment, as the checks read them.

Every change of references is one atomic step, so at each moment they must agree: what a snapshot
shows is no accident of reading. Only removals of whole partitions have several steps; what is being
removed is marked before, and left out here. Records that cannot be read are left out, too: one
check reports them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

import msgspec

from anabranch.blocks.cache.table_cache import TableCache
from anabranch.errors import AnabranchError, Corrupt
from anabranch.keyvalue.contract import StoreSnapshot
from anabranch.keyvalue.frozen_store import FrozenStore
from anabranch.model.commits.commit import Commit
from anabranch.model.page import upper_bound
from anabranch.model.references.branch import Branch
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.operations.record import LOG, operation_from, operations_partition
from anabranch.versioning.records import keys, references

__all__ = ["Area", "Inspected", "is_staging_area"]

_AREA = re.compile(r".+:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)

T = TypeVar("T")


class Area(NamedTuple):
    """A staging area, and who keeps it: a branch, or an operation that can bring it back."""

    token: str
    repository: Repository
    owner: str


class Inspected:
    """The references in a snapshot. `clock` returns seconds since 1970; operations can be undone
    for `undo_days`.
    """

    def __init__(
        self,
        snapshot: StoreSnapshot,
        tables: TableCache,
        clock: Callable[[], float],
        undo_days: int,
    ) -> None:
        self.store = FrozenStore(snapshot)
        self.core = Core(self.store, tables, clock=clock, undo_days=undo_days)
        self.now = clock()
        self.rows = {
            partition.decode("utf-8", "surrogateescape"): number
            for partition, number in snapshot.partitions()
        }
        """The number of keys of each partition."""
        start = keys.repository("")
        stored = list(
            self._decoded(keys.GRAVELER, start, upper_bound(start), references.repository_from)
        )
        self.repositories: Sequence[Repository] = [
            each for _, each in stored if not each.in_deletion
        ]
        self.in_deletion: Sequence[Repository] = [each for _, each in stored if each.in_deletion]
        self.deleted = self._deleted()

    def _deleted(self) -> Sequence[Repository]:
        """Returns the deleted repositories whose references are still there."""
        try:
            return [each.deleted.repository for each in self.core.repositories.deleted.stored()]
        except msgspec.MsgspecError:
            return []  # which one check reports

    def branches(self, repository: Repository) -> Iterator[tuple[bytes, Branch]]:
        """Yields the branches of a repository, with their records."""
        return self._decoded(repository.partition, *keys.all_branches(), references.branch_from)

    def tags(self, repository: Repository) -> Iterator[tuple[bytes, Tag]]:
        """Yields the tags of a repository, with their records."""
        return self._decoded(repository.partition, *keys.all_tags(), references.tag_from)

    def commits(self, repository: Repository) -> Iterator[tuple[bytes, Commit]]:
        """Yields the commits of a repository, with their records."""
        return self._decoded(repository.partition, *keys.all_commits(), references.commit_from)

    def operations(self, repository: Repository) -> Iterator[LoggedOperation]:
        """Yields the operations of a repository, the newest first."""
        return self.operations_in(operations_partition(repository.partition))

    def operations_in(self, partition: str) -> Iterator[LoggedOperation]:
        """Yields the operations in a partition, the newest first."""
        for key, raw in self.store.scan(partition, LOG, upper_bound(LOG)):
            with suppress(Corrupt):
                yield operation_from(key, raw)

    def areas(self) -> Iterator[Area]:
        """Yields the staging areas that branches and operations keep."""
        for repository in self.repositories:
            yield from self.areas_of(repository)

    def areas_of(self, repository: Repository) -> Iterator[Area]:
        """Yields the staging areas that branches and operations of a repository keep."""
        for _, branch in self.branches(repository):
            for token in branch.tokens:
                yield Area(token, repository, f"branch {branch.id}")
        for operation in self.operations(repository):
            if not operation.given_up_at:
                for token in operation.discarded:
                    yield Area(token, repository, f"operation {operation.id}")

    def left_namespaces(self) -> Sequence[str]:
        """Returns the storage namespaces of deleted repositories."""
        try:
            return [left.storage_namespace for left in self.core.repositories.left.all()]
        except msgspec.MsgspecError:
            return []  # which objects are looked up one by one then

    def has_commit(self, repository: Repository, commit_id: str) -> bool:
        """Returns whether a repository has a record of a commit."""
        return self.store.get(repository.partition, keys.commit(commit_id)) is not None

    def _decoded(
        self, partition: str, start: bytes, end: bytes | None, decode: Callable[[bytes], T]
    ) -> Iterator[tuple[bytes, T]]:
        for _, raw in self.store.scan(partition, start, end):
            with suppress(AnabranchError):
                yield raw, decode(raw)


def is_staging_area(partition: str) -> bool:
    """Returns whether a partition has the name of a staging area."""
    return _AREA.fullmatch(partition) is not None
