"""Repositories: creates them with exactly one initial commit, lists, describes and deletes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec

from anabranch import _kernel as kernel
from anabranch.errors import AlreadyExists, Busy, Gone, NotFound, ReadOnlyRepository
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.keyvalue.recent_values import RecentReads, outlast_recent
from anabranch.model.commits.commit import INITIAL_MESSAGE, Commit
from anabranch.model.names import check_default_branch, check_repository
from anabranch.model.page import Page, take_page, upper_bound
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import ID_LENGTH
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.objects.uploads import abandon_all
from anabranch.versioning.operations.log import OperationLog
from anabranch.versioning.operations.retention import OperationRetention
from anabranch.versioning.pulls.pulls import remove_branch_index
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.left_namespaces import LeftNamespaces
from anabranch.versioning.repositories.begun_creations import BegunCreations
from anabranch.versioning.repositories.deleted import DeletedRepositories, StoredDeletion
from anabranch.versioning.staging.cleanup import discard

__all__ = ["Repositories", "check_writable", "forget_deletion"]

_REMOVED_AT_ONCE = 1000
_MAX_ATTEMPTS = 100


def check_writable(repository: Repository, *, force: bool) -> None:
    """Raises ReadOnlyRepository unless the repository may be changed."""
    if repository.read_only and not force:
        raise ReadOnlyRepository("read-only repository")


def forget_deletion(
    keyvalue: KeyValueStore, repository: Repository, clock: Callable[[], float]
) -> None:
    """Removes what is kept of a repository that was deleted, before it is written here again with
    the same id. `clock` returns seconds since 1970.
    """
    log = OperationLog(keyvalue, clock)
    retention = OperationRetention(keyvalue, log, clock)
    repositories = Repositories(keyvalue, Identifiers(clock), clock, log, retention)
    for stored in list(repositories.deleted.stored(f"{repository.id}/")):
        if stored.deleted.repository.partition == repository.partition:
            repositories.forget(stored)


def _found(raw: bytes | None) -> Repository:
    if raw is None:
        raise NotFound("repository not found", kind="repository_not_found")
    repository = references.repository_from(raw)
    if repository.in_deletion:
        raise Gone("repository in deletion", kind="repository_in_deletion")
    return repository


def _is_same(one: Repository, other: Repository) -> bool:
    return one.partition == other.partition and not one.in_deletion


class Repositories:
    """The repositories of one installation. `clock` returns seconds since 1970; `recent` has the
    reads of a store on another machine that may be a moment old.
    """

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        clock: Callable[[], float],
        operations: OperationLog,
        retention: OperationRetention,
        recent: RecentReads | None = None,
    ) -> None:
        self._keyvalue = keyvalue
        self._recent = recent
        self._get_recent = keyvalue.get if recent is None else recent.get_recent
        self._operations = operations
        self._retention = retention
        self._identifiers = identifiers
        self._clock = clock
        self.left = LeftNamespaces(keyvalue, clock)
        """The storage namespaces of deleted repositories."""
        self.deleted = DeletedRepositories(keyvalue, self.left, clock)
        self.begun = BegunCreations(keyvalue, identifiers)

    def create(
        self,
        name: str,
        storage_namespace: str,
        *,
        default_branch: str = "main",
        bare: bool = False,
        read_only: bool = False,
        storage_id: str = "",
        written_namespace: str = "",
        conditions: Sequence[Expect] = (),
    ) -> Repository:
        """Creates a repository, with its initial commit and default branch unless it is `bare`.
        `written_namespace` is the storage namespace that clients see, if it differs.

        Raises AlreadyExists if the name is taken, Invalid for invalid names, Conflict (kind
        purge_under_way) while data in the namespace are being purged, and Busy (kind
        creation_outdated) if one of the `conditions` does not hold.
        """
        check_repository(name)
        check_default_branch(default_branch, bare=bare)
        now = self._clock()
        repository = Repository(
            id=name,
            storage_namespace=storage_namespace,
            default_branch=default_branch,
            creation_date=int(now),
            instance_uid=self._identifiers.xid(),
            read_only=read_only,
            storage_id=storage_id,
            written_namespace="" if written_namespace == storage_namespace else written_namespace,
        )
        writes = [
            Write(keys.GRAVELER, keys.repository(name), references.repository_bytes(repository)),
            self.begun.end(name),
        ]
        if not bare:
            writes += self._first_references(repository, now)
        absent = Expect(keys.GRAVELER, keys.repository(name), None)
        for _ in range(_MAX_ATTEMPTS):
            unclaimed = self.left.require_unclaimed(storage_namespace)
            if self._keyvalue.apply(writes, [absent, *(conditions or (unclaimed,))]):
                return repository
            if self._keyvalue.get(keys.GRAVELER, keys.repository(name)) is not None:
                raise AlreadyExists(
                    "error creating repository: not unique", kind="repository_already_exists"
                )
            if conditions:
                raise Busy("another request has changed the creation", kind="creation_outdated")
        raise Busy("too many processes are purging storage namespaces")

    def _first_references(self, repository: Repository, now: float) -> list[Write]:
        seconds = int(now)
        commit = Commit(
            id=kernel.commit_id("", INITIAL_MESSAGE, kernel.EMPTY_TREE_ID, seconds, {}, []),
            committer="",
            message=INITIAL_MESSAGE,
            creation_date=seconds,
            nanos=int((now - seconds) * 1e9),
            metarange_id=kernel.EMPTY_TREE_ID,
        )
        branch = Branch(
            id=repository.default_branch,
            commit_id=commit.id,
            staging_token=self._identifiers.staging_token(repository.id, repository.default_branch),
        )
        return [
            Write(repository.partition, keys.commit(commit.id), references.commit_bytes(commit)),
            Write(repository.partition, keys.branch(branch.id), references.branch_bytes(branch)),
        ]

    def get(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound, and Gone while it is being deleted."""
        return _found(self._keyvalue.get(keys.GRAVELER, keys.repository(name)))

    def get_for_reading(self, name: str, reference: str) -> Repository:
        """Returns a repository to read from it at a reference. For a commit's full id, whose tree
        never changes, the record may be a moment old, which no deletion that has ended is.

        Raises NotFound, and Gone while it is being deleted.
        """
        get = self._get_recent if len(reference) == ID_LENGTH else self._keyvalue.get
        return _found(get(keys.GRAVELER, keys.repository(name)))

    def list(
        self, *, prefix: str = "", after: str = "", amount: int, search: str = ""
    ) -> Page[Repository]:
        """Returns a page of repositories by name, those that contain `search`."""
        found = (each for each in self._all(prefix, after) if search in each.id)
        return take_page(found, amount, lambda repository: repository.id)

    def all(self) -> Iterator[Repository]:
        """Yields all repositories by name, except for those that are being deleted."""
        return self._all("", "")

    def _there(self, name: str) -> Sequence[Repository]:
        try:
            return [self.get(name)]
        except (Gone, NotFound):
            return []

    def _all(self, prefix: str, after: str) -> Iterator[Repository]:
        stem = keys.repository(prefix)
        start = max(stem, keys.repository(after) + b"\x00") if after else stem
        for _, raw in self._keyvalue.scan(keys.GRAVELER, start, upper_bound(stem)):
            repository = references.repository_from(raw)
            if not repository.in_deletion:
                yield repository

    def of_name(self, name: str) -> Sequence[Repository]:
        """Returns the repository of a name, then those of this name that were deleted and can be
        restored.
        """
        there = self._there(name)  # before: it may be deleted meanwhile
        deleted = [each.deleted for each in self.deleted.stored(f"{name}/")]
        kept = [each.repository for each in deleted if not each.forgotten]
        return [*there, *kept] or self._there(name)  # one may have been restored since

    def kept(self) -> Iterator[Repository]:
        """Yields all repositories, then those that were deleted and can be restored: their objects
        are referenced as well.
        """
        yield from self.all()
        for deleted in self.deleted.all():
            yield deleted.repository

    def exists(self, repository: Repository) -> bool:
        """Returns whether a repository is there, or was deleted and can be restored."""
        raw = self._keyvalue.get(keys.GRAVELER, keys.repository(repository.id))
        if raw is not None and _is_same(references.repository_from(raw), repository):
            return True
        try:
            self.deleted.read(repository.id, repository.instance_uid)
        except NotFound:
            # it may have been restored since it was looked for
            raw = self._keyvalue.get(keys.GRAVELER, keys.repository(repository.id))
            return raw is not None and _is_same(references.repository_from(raw), repository)
        return True

    def delete(
        self,
        name: str,
        *,
        force: bool = False,
        instance_uid: str = "",
        forget: bool = False,
        writes: Sequence[Write] = (),
        expect: Sequence[Expect] = (),
    ) -> None:
        """Deletes a repository. What it had is kept for as many days as its operations can be
        undone; with `forget`, or if these are none, its references, staged changes and uploads are
        removed at once. Its objects stay, and its storage namespace is recorded. `writes` are made
        with the deletion on the conditions `expect`.

        Completes a deletion that was interrupted, without these. Raises NotFound, also for another
        repository of that name than the one with `instance_uid`, ReadOnlyRepository without
        `force`, and Busy if a condition does not hold.
        """
        raw = self._keyvalue.get(keys.GRAVELER, keys.repository(name))
        if raw is None:
            raise NotFound("repository not found", kind="repository_not_found")
        repository = references.repository_from(raw)
        if instance_uid and repository.instance_uid != instance_uid:
            raise NotFound("repository not found", kind="repository_not_found")
        check_writable(repository, force=force)
        days = self._retention.undo_days(repository)
        if days and not forget and not repository.in_deletion:
            self._remove_runs(name)
            record = Expect(keys.GRAVELER, keys.repository(name), raw)
            removal = Write(keys.GRAVELER, keys.repository(name), None)
            kept = [self.left.leave(repository), self.deleted.keep(repository, days)]
            if not self._keyvalue.apply([removal, *kept, *writes], [record, *expect]):
                raise Busy(f"repository {name} was changed by another request")
            abandon_all(self._keyvalue, repository.partition, self._clock())
            self._outlast_recent()
            return
        if not repository.in_deletion:
            marked = references.repository_bytes(
                msgspec.structs.replace(repository, in_deletion=True)
            )
            if not self._keyvalue.apply(
                [Write(keys.GRAVELER, keys.repository(name), marked), *writes],
                [Expect(keys.GRAVELER, keys.repository(name), raw), *expect],
            ):
                raise Busy(f"repository {name} was changed by another request")
            raw = marked
        self._remove_runs(name)
        self._remove_references(repository)
        self._keyvalue.apply(
            [Write(keys.GRAVELER, keys.repository(name), None), self.left.leave(repository)],
            [Expect(keys.GRAVELER, keys.repository(name), raw)],
        )
        self._outlast_recent()

    def _outlast_recent(self) -> None:
        if self._recent is not None:
            outlast_recent()

    def forget(self, stored: StoredDeletion) -> bool:
        """Removes what is kept of a deleted repository, which can then not be restored; returns
        False if it was restored meanwhile.
        """
        repository = stored.deleted.repository
        raw = self._keyvalue.get(keys.GRAVELER, keys.repository(repository.id))
        if raw is not None and references.repository_from(raw).partition == repository.partition:
            self.deleted.remove(stored)  # it was copied here again, with the id that it had
            return False
        marked = stored if stored.deleted.forgotten else self.deleted.mark_forgotten(stored)
        if marked is None:
            return False
        self._remove_references(marked.deleted.repository)
        self.deleted.remove(marked)
        return True

    def forget_old(self) -> int:
        """Forgets deleted repositories that were kept long enough, and completes what was
        interrupted; returns their number.
        """
        now = self._clock()
        return sum(
            self.forget(stored)
            for stored in list(self.deleted.stored())
            if stored.deleted.forgotten or stored.deleted.kept_until <= now
        )

    def _remove_references(self, repository: Repository) -> None:
        areas = self._staging_areas(repository)
        for token in areas:
            self._keyvalue.drop(token)
        self._operations.drop(repository)
        abandon_all(self._keyvalue, repository.partition, self._clock())
        remove_branch_index(self._keyvalue, repository.partition)
        self._discard(areas | self._areas_of_branches(repository))
        self._keyvalue.drop(repository.partition)
        self._operations.drop(repository)  # a change that had begun may have been recorded since

    def _discard(self, areas: set[str]) -> None:
        """Schedules areas for removal: changes that had begun may have been staged since."""
        writes = discard(sorted(areas), self._clock())
        for first in range(0, len(writes), _REMOVED_AT_ONCE):
            self._keyvalue.apply(writes[first : first + _REMOVED_AT_ONCE])

    def _staging_areas(self, repository: Repository) -> set[str]:
        """Returns all staging areas of a repository: those of branches, and those that operations
        have taken from them. Branches are read before and after, since either moves to the other.
        """
        areas = self._areas_of_branches(repository)
        areas.update(self._operations.kept_areas(repository))
        return areas | self._areas_of_branches(repository)

    def _areas_of_branches(self, repository: Repository) -> set[str]:
        records = self._keyvalue.scan(repository.partition, *keys.all_branches())
        return {token for _, raw in records for token in references.branch_from(raw).tokens}

    def _remove_runs(self, name: str) -> None:
        """Removes the runs of hooks, which a later repository of that name must not have."""
        start = keys.repository_actions(name)
        end = upper_bound(start)
        while rows := list(self._keyvalue.scan(keys.ACTIONS, start, end, limit=_REMOVED_AT_ONCE)):
            self._keyvalue.apply([Write(keys.ACTIONS, key, None) for key, _ in rows])

    def metadata(self, repository: Repository) -> dict[str, str]:
        """Returns a repository's metadata."""
        return references.metadata_from(self._keyvalue.get(repository.partition, keys.METADATA))

    def change_metadata(
        self,
        repository: Repository,
        *,
        put: Mapping[str, str] = MappingProxyType({}),
        remove: Sequence[str] = (),
    ) -> None:
        """Sets and removes keys of a repository's metadata."""
        for _ in range(_MAX_ATTEMPTS):
            raw = self._keyvalue.get(repository.partition, keys.METADATA)
            metadata = references.metadata_from(raw) | dict(put)
            for key in remove:
                metadata.pop(key, None)
            if self._keyvalue.apply(
                [Write(repository.partition, keys.METADATA, references.metadata_bytes(metadata))],
                [Expect(repository.partition, keys.METADATA, raw)],
            ):
                return
        raise Busy("the repository's metadata is changed by too many requests at once")
