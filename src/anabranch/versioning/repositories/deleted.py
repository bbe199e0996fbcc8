"""Deleted repositories that are kept: their references stay where they are, and nothing finds them.

    partition                       key          value
    anabranch-deleted-repositories  NAME/UID     the repository, as JSON

The partition of a repository has the random id of this one, so another repository can have its
name. The record is written by the write that removes the repository's own, and removed by that
which writes it again. Collectors read these records as they read those of repositories: first
repositories, then deleted ones, so that what moves is found. A record that is forgotten is marked
before anything is removed; a repository is restored on condition that its record is as it was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from anabranch.errors import AlreadyExists, Busy, Conflict, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.caller import current_caller
from anabranch.model.page import upper_bound
from anabranch.model.repositories.deleted_repository import DeletedRepository
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import keys, references
from anabranch.versioning.records.expiring_branches import due_writes
from anabranch.versioning.records.left_namespaces import LeftNamespaces, contains

__all__ = ["DELETED_REPOSITORIES", "DeletedRepositories", "StoredDeletion"]

DELETED_REPOSITORIES = "anabranch-deleted-repositories"
_DECODER = msgspec.json.Decoder(DeletedRepository)
_MAX_ATTEMPTS = 100
_BATCH = 500


class StoredDeletion(NamedTuple):
    """A deleted repository, and the condition that its record is as it was read."""

    deleted: DeletedRepository
    unchanged: Expect


class DeletedRepositories:
    """The deleted repositories of an installation. `clock` returns seconds since 1970."""

    def __init__(
        self, keyvalue: KeyValueStore, left: LeftNamespaces, clock: Callable[[], float]
    ) -> None:
        self._keyvalue = keyvalue
        self._left = left
        self._clock = clock

    def keep(self, repository: Repository, days: int) -> Write:
        """Returns the write that keeps a repository which is deleted with it, for some days."""
        deleted = DeletedRepository(
            repository=repository,
            deleted_at=self._clock(),
            user=current_caller().username,
            days=days,
        )
        return Write(DELETED_REPOSITORIES, _key(repository), msgspec.json.encode(deleted))

    def all(self) -> Iterator[DeletedRepository]:
        """Yields those that can be restored."""
        return (stored.deleted for stored in self.stored() if not stored.deleted.forgotten)

    def stored(self, prefix: str = "") -> Iterator[StoredDeletion]:
        """Yields all, also those whose references are being removed."""
        start = prefix.encode("utf-8", "surrogateescape")
        end = upper_bound(start) if start else None
        for key, raw in self._keyvalue.scan(DELETED_REPOSITORIES, start, end):
            yield StoredDeletion(_DECODER.decode(raw), Expect(DELETED_REPOSITORIES, key, raw))

    def read(self, name: str, instance_uid: str = "") -> StoredDeletion:
        """Returns the one of a name that was deleted last, or that with an id. Raises NotFound."""
        found = [
            each
            for each in self.stored(f"{name}/")
            if not each.deleted.forgotten
            and instance_uid in {"", each.deleted.repository.instance_uid}
        ]
        if not found:
            raise NotFound(
                "there is no deleted repository of this name that can be restored",
                kind="deletion_not_found",
                hint="`anabranch repo deleted` lists those that can be restored.",
            )
        return max(found, key=lambda each: each.deleted.deleted_at)

    def restore(
        self,
        name: str,
        instance_uid: str = "",
        writes: Sequence[Write] = (),
        expect: Sequence[Expect] = (),
    ) -> Repository:
        """Makes a deleted repository what it was, with other writes, and returns it.

        Raises NotFound, AlreadyExists if there is another repository of its name, Conflict if
        another one has data in its storage namespace or these are being purged, and Busy if one of
        the conditions `expect` does not hold.
        """
        for _ in range(_MAX_ATTEMPTS):
            stored = self.read(name, instance_uid)
            repository = stored.deleted.repository
            key = keys.repository(name)
            if self._keyvalue.get(keys.GRAVELER, key) is not None:
                raise AlreadyExists(
                    f"there is another repository {name}",
                    kind="repository_already_exists",
                    hint="A repository returns under its own name only: delete the other one, "
                    "which can be restored as well.",
                )
            unclaimed = self._left.require_unclaimed(repository.storage_namespace)
            self._require_own_namespace(repository)
            made = self._keyvalue.apply(
                [
                    Write(keys.GRAVELER, key, references.repository_bytes(repository)),
                    Write(DELETED_REPOSITORIES, stored.unchanged.key, None),
                    *writes,
                ],
                [Expect(keys.GRAVELER, key, None), stored.unchanged, unclaimed, *expect],
            )
            if made:
                self._index_expiry(repository)
                return repository
            if any(self._keyvalue.get(each.partition, each.key) != each.value for each in expect):
                break
        raise Busy("another request has changed the deleted repository", kind="too_many_tries")

    def mark_forgotten(self, stored: StoredDeletion) -> StoredDeletion | None:
        """Marks a deleted repository as one that does not return; returns it then, None if it has
        changed since it was read.
        """
        deleted = msgspec.structs.replace(stored.deleted, forgotten=True)
        unchanged = stored.unchanged._replace(value=msgspec.json.encode(deleted))
        if not self._keyvalue.apply([Write(*unchanged)], [stored.unchanged]):
            return None
        return StoredDeletion(deleted, unchanged)

    def remove(self, stored: StoredDeletion) -> None:
        """Removes the record of one whose references were removed."""
        write = Write(stored.unchanged.partition, stored.unchanged.key, None)
        self._keyvalue.apply([write], [stored.unchanged])

    def _require_own_namespace(self, repository: Repository) -> None:
        """Raises Conflict if another repository has its data there, above or below."""
        own, start = repository.storage_namespace, keys.repository("")
        for _, raw in self._keyvalue.scan(keys.GRAVELER, start, upper_bound(start)):
            other = references.repository_from(raw)
            if contains(own, other.storage_namespace) or contains(other.storage_namespace, own):
                raise Conflict(
                    f"the repository {other.id} has its data in {other.shown_namespace}",
                    kind="storage_namespace_in_use",
                    hint="No two repositories have one storage namespace: delete that one first.",
                )

    def _index_expiry(self, repository: Repository) -> None:
        """Adds the branches that expire to the index, which has forgotten them meanwhile."""
        writes: list[Write] = []
        for _, raw in self._keyvalue.scan(repository.partition, *keys.all_branches()):
            branch = references.branch_from(raw)
            writes += due_writes(repository, branch.id, 0, branch.expires_at)
        for start in range(0, len(writes), _BATCH):
            self._keyvalue.apply(writes[start : start + _BATCH])


def _key(repository: Repository) -> bytes:
    return f"{repository.id}/{repository.instance_uid}".encode("utf-8", "surrogateescape")
