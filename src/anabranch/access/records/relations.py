"""Relations between records: memberships of users in groups, and attachments of policies.

A relation is a record whose key holds both names; its value points to the record of the second, as
in lakeFS (`SecondaryIndex`).
"""

from __future__ import annotations

from collections.abc import Callable

from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import PARTITION
from anabranch.access.records.record_pages import list_names
from anabranch.errors import AlreadyExists, NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.page import Page
from anabranch.records import lakefs_pb2 as records

__all__ = ["Relations"]


class Relations:
    """Relations of one kind, from owners to targets.

    `prefix` returns the prefix of the keys of an owner's relations, `target_key` the key of a
    target's record. `require_owner` and `require_target` raise NotFound for one that does not
    exist. `noun` is the name of a relation in errors.
    """

    def __init__(
        self,
        store: KeyValueStore,
        changes: AccessChanges,
        noun: str,
        *,
        prefix: Callable[[str], bytes],
        target_key: Callable[[str], bytes],
        require_owner: Callable[[str], object],
        require_target: Callable[[str], object],
    ) -> None:
        self._store = store
        self._changes = changes
        self._noun = noun
        self._prefix = prefix
        self._target_key = target_key
        self._require_owner = require_owner
        self._require_target = require_target

    def page(self, owner: str, prefix: str, after: str, amount: int) -> Page[str]:
        """Returns at most `amount` names of an owner's targets, in the order of their bytes; raises
        NotFound if the owner does not exist.
        """
        self._require_owner(owner)
        page = list_names(self._store, self._prefix(owner), prefix, after, amount)
        return Page(
            [name for name, _ in page.items], has_more=page.has_more, next_offset=page.next_offset
        )

    def exists(self, owner: str, target: str) -> bool:
        """Returns whether an owner has a relation to a target."""
        return self._store.get(PARTITION, self._prefix(owner) + target.encode()) is not None

    def add(self, owner: str, target: str) -> None:
        """Adds a relation. Raises NotFound if the owner or the target does not exist, and
        AlreadyExists if the relation does.
        """
        key = self._prefix(owner) + target.encode()
        record = records.SecondaryIndex(primary_key=self._target_key(target))

        for attempt in self._changes.attempts():
            with attempt:
                self._require_owner(owner)
                self._require_target(target)
                if self._store.get(PARTITION, key) is not None:
                    raise AlreadyExists("Already exists", kind=f"{self._noun}_exists")
                attempt.write([Write(PARTITION, key, record.SerializeToString())])

    def remove(self, owner: str, target: str) -> None:
        """Removes a relation. Raises NotFound if the owner, the target or the relation does not
        exist.
        """
        key = self._prefix(owner) + target.encode()

        for attempt in self._changes.attempts():
            with attempt:
                self._require_owner(owner)
                self._require_target(target)
                if self._store.get(PARTITION, key) is None:
                    raise NotFound(
                        f"{self._noun} not found",
                        kind=f"{self._noun}_not_found",
                        hint="`anabranch auth` lists members and attached policies, too.",
                    )
                attempt.write([Write(PARTITION, key, None)])
