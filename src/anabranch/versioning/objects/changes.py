"""Changes to a branch: stages, replaces and deletes objects, each atomically.

An attempt reads the branch, decides on its writes, and makes them on condition that the branch has
not changed; if a commit intervened, it decides again. So a change is made either before a commit,
and is part of it, or after, and is staged on top of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, TypeAlias

from anabranch.errors import (
    AnabranchError,
    Conflict,
    Invalid,
    PreconditionFailed,
)
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.names import check_path, encode_path
from anabranch.model.objects.entry import Entry
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import is_record_path
from anabranch.versioning.garbage.record_admission import RecordAdmission, RecordChange
from anabranch.versioning.objects.objects import Objects, no_object
from anabranch.versioning.objects.sealed_trees import SealedTrees
from anabranch.versioning.records.entries import entry_from, entry_value
from anabranch.versioning.references.branches import Branches, StoredBranch
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes

__all__ = ["Changes", "DeleteCondition", "EntriesChange", "EntryChange", "destination_exists"]

DeleteCondition: TypeAlias = Callable[[Entry | None], AnabranchError | None]
"""Returns the error that forbids deleting an entry (None: no entry), or None to allow it."""


class EntryChange(Protocol):
    """A change of the entry at a path."""

    def apply(self, current: Entry | None) -> Entry:
        """Returns the entry that replaces the current one, which is None if there is none. It is
        called again when another writer came first.
        """


class EntriesChange(Protocol):
    """A change of the entries at several paths, all of them or none."""

    def apply(self, current: Mapping[str, Entry | None]) -> Mapping[str, Entry | None]:
        """Returns the entries that replace the current ones, None for a path to delete; a path that
        is left out keeps its entry. It is called again when another writer came first.
        """


class Changes:
    """Stages changes on branches."""

    def __init__(
        self,
        branches: Branches,
        staging: Staging,
        objects: Objects,
        sealed_trees: SealedTrees,
        records: RecordAdmission,
    ) -> None:
        self._branches = branches
        self._staging = staging
        self._objects = objects
        self._sealed_trees = sealed_trees
        self._records = records

    def put(
        self,
        repository: Repository,
        branch: str,
        path: str,
        entry: Entry,
        *,
        if_absent: bool = False,
        extra_writes: Sequence[ExtraWritesFor[None]] = (),
        known: StoredBranch | None = None,
    ) -> None:
        """Stages an entry at a path; `extra_writes` adds writes. `known` is the branch, if the
        caller has read it already.

        Raises PreconditionFailed with `if_absent` if there is an object at the path.
        """
        check_path(path)
        key, value = encode_path(path), entry_value(entry)
        # whether the path is free must be read from the current branch
        known = None if if_absent else known
        for stored in self._branches.attempts(repository, branch, known):
            token = stored.branch.staging_token
            writes, expect = collect_extra_writes(extra_writes, None)
            expect = [*expect, *self._admit(repository, RecordChange(path, None, entry))]
            if if_absent:
                expect = [*expect, self._staging.unchanged(token, key)]
            if if_absent and self._objects.value(repository, _view(stored), path) is not None:
                raise PreconditionFailed("path already exists", kind="path_already_exists")
            writes = [*writes, self._staging.write(token, key, value)]
            if self._branches.apply(repository, stored, writes, expect):
                return

    def replace(
        self,
        repository: Repository,
        branch: str,
        path: str,
        change: EntryChange,
        *,
        extra_writes: Sequence[ExtraWritesFor[None]] = (),
    ) -> Entry:
        """Replaces the entry at a path by the one that `change` returns for it, and returns that;
        `extra_writes` adds writes.
        """
        check_path(path)
        key = encode_path(path)
        for stored in self._branches.attempts(repository, branch):
            token = stored.branch.staging_token
            writes, expect = collect_extra_writes(extra_writes, None)
            unchanged = self._staging.unchanged(token, key)
            current = self._objects.entry_at(repository, _view(stored), path)
            replacement = change.apply(current)
            expect = [*expect, *self._admit(repository, RecordChange(path, current, replacement))]
            writes = [*writes, self._staging.write(token, key, entry_value(replacement))]
            if self._branches.apply(repository, stored, writes, [*expect, unchanged]):
                break
        return replacement

    def change_all(
        self,
        repository: Repository,
        branch: str,
        paths: Sequence[str],
        change: EntriesChange,
        *,
        extra_writes: Sequence[ExtraWritesFor[None]] = (),
    ) -> None:
        """Changes the entries at several paths in one step, to what `change` returns for them;
        `extra_writes` adds writes. Raises what `change` raises.
        """
        for path in paths:
            check_path(path)
        for stored in self._branches.attempts(repository, branch):
            token, view = stored.branch.staging_token, _view(stored)
            unchanged = [self._staging.unchanged(token, encode_path(path)) for path in paths]
            current = {path: self._objects.entry_at(repository, view, path) for path in paths}
            changed = change.apply(current)
            staged = [
                self._deletion(repository, stored.branch, encode_path(path))
                if entry is None
                else self._staging.write(token, encode_path(path), entry_value(entry))
                for path, entry in changed.items()
            ]
            writes, expect = collect_extra_writes(extra_writes, None)
            expect = [*expect, *self._admit(repository, *_new_records(current, changed))]
            writes = [*writes, *(write for write in staged if write is not None)]
            if self._branches.apply(repository, stored, writes, [*expect, *unchanged]):
                return

    def move(
        self, repository: Repository, branch: str, source: str, destination: str, *, force: bool
    ) -> None:
        """Moves an object to another path, in one step.

        Raises NotFound; Invalid (kind move_into_itself) if both paths are equal; Conflict (kind
        destination_exists) if there is an object at the destination, unless `force`.
        """
        check_path(source)
        check_path(destination)
        if source == destination:
            raise Invalid(f"{source!r} is moved to itself", kind="move_into_itself")
        old, new = encode_path(source), encode_path(destination)
        for stored in self._branches.attempts(repository, branch):
            token, view = stored.branch.staging_token, _view(stored)
            expect = [self._staging.unchanged(token, key) for key in (old, new)]
            value = self._objects.value(repository, view, source)
            if value is None:
                raise no_object(source)
            if not force and self._objects.value(repository, view, destination) is not None:
                raise destination_exists(destination)
            if not is_record_path(source):
                change = RecordChange(destination, None, entry_from(value))
                expect += self._admit(repository, change)
            removal = self._deletion(repository, stored.branch, old)
            writes = [self._staging.write(token, new, value)]
            if removal is not None:
                writes.append(removal)
            if self._branches.apply(repository, stored, writes, expect):
                return

    def delete(
        self,
        repository: Repository,
        branch: str,
        paths: Iterable[str],
        conditions: Mapping[str, DeleteCondition] = MappingProxyType({}),
        known: StoredBranch | None = None,
    ) -> dict[str, AnabranchError]:
        """Deletes objects in one step; ignores paths without an object. `known` is the branch, if
        the caller has read it already.

        A path in `conditions` is deleted only if its condition allows it for the entry at the path,
        which is the one that is deleted; a condition may be called several times. Returns the
        errors of the paths that were not deleted.
        """
        ordered = sorted(set(paths))
        for path in ordered:
            check_path(path)
        for stored in self._branches.attempts(repository, branch, known):
            failed: dict[str, AnabranchError] = {}
            expect = [
                self._staging.unchanged(stored.branch.staging_token, encode_path(path))
                for path in ordered
                if path in conditions
            ]
            for path, condition in conditions.items():
                error = condition(self._objects.entry_at(repository, _view(stored), path))
                if error is not None:
                    failed[path] = error
            keys = [encode_path(path) for path in ordered if path not in failed]
            deletions = [self._deletion(repository, stored.branch, key) for key in keys]
            writes = [write for write in deletions if write is not None]
            if self._branches.apply(repository, stored, writes, expect):
                break
        self._sealed_trees.count_deletions(repository, branch, len(writes))
        return failed

    def _admit(self, repository: Repository, *changes: RecordChange) -> Sequence[Expect]:
        """Returns the conditions on which garbage collection admits records of tables."""
        return self._records.admit(repository, changes)

    def _deletion(self, repository: Repository, branch: Branch, key: bytes) -> Write | None:
        """Returns the write that deletes a key: a tombstone if a sealed area or the commit holds
        it, else the removal of the staged change; None if the key does not exist.
        """
        token, below = branch.staging_token, branch.sealed_tokens
        if self._objects.value_in(repository, branch.commit_id, below, key) is not None:
            return self._staging.write(token, key, None)
        if self._staging.get((token,), key) is not None:
            return self._staging.remove(token, key)
        return None


def destination_exists(path: str) -> Conflict:
    """Returns the error of a move or copy that would overwrite an object."""
    return Conflict(
        f"{path!r} already exists",
        kind="destination_exists",
        hint="Choose another destination, or overwrite the existing objects with force.",
    )


def _new_records(
    current: Mapping[str, Entry | None], changed: Mapping[str, Entry | None]
) -> Iterator[RecordChange]:
    """Yields the new entries, without those that have only moved."""
    known = {entry.address for entry in current.values() if entry is not None}
    for path, entry in changed.items():
        if entry is not None and entry.address not in known:
            yield RecordChange(path, current[path], entry)


def _view(stored: StoredBranch) -> Resolved:
    return Resolved(stored.branch.commit_id, stored)
