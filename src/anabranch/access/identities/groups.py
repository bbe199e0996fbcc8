"""Groups of users. Their records are lakeFS's (`GroupData`)."""

from __future__ import annotations

from functools import lru_cache

import msgspec
from google.protobuf.message import DecodeError

from anabranch.access.records.changes import AccessChanges
from anabranch.access.records.layout import (
    GROUPS,
    PARTITION,
    check_name,
    group_key,
    group_policies_prefix,
    members_prefix,
)
from anabranch.access.records.record_pages import list_names, scan_names
from anabranch.errors import AlreadyExists, Corrupt, NotFound
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.page import Page
from anabranch.records import lakefs_pb2 as records

__all__ = ["Group", "Groups", "relations_of", "write_group"]


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group; `created_at` in seconds since 1970."""

    id: str
    created_at: int
    description: str = ""


class Groups:
    """The stored groups."""

    def __init__(self, store: KeyValueStore, changes: AccessChanges) -> None:
        self._store = store
        self._changes = changes

    def find(self, group_id: str) -> Group | None:
        """Returns the group of that name, or None."""
        return self.find_many([group_id])[0]

    def find_many(self, group_ids: list[str]) -> list[Group | None]:
        """Returns the groups of these names, in their order, None for those that are missing."""
        values = self._store.get_many(PARTITION, [group_key(group_id) for group_id in group_ids])
        return [
            None if value is None else _decode(group_id, value)
            for group_id, value in zip(group_ids, values, strict=True)
        ]

    def get(self, group_id: str) -> Group:
        """Returns the group of that name; raises NotFound."""
        group = self.find(group_id)
        if group is None:
            raise NotFound("group not found", kind="group_not_found")
        return group

    def page(self, prefix: str, after: str, amount: int) -> Page[Group]:
        """Returns at most `amount` groups in the order of their names' bytes."""
        page = list_names(self._store, GROUPS, prefix, after, amount)
        return Page(
            [_decode(name, value) for name, value in page.items],
            has_more=page.has_more,
            next_offset=page.next_offset,
        )

    def create(self, group: Group) -> None:
        """Adds a group. Raises Invalid for a bad name, and AlreadyExists."""
        check_name(group.id, "group")

        for attempt in self._changes.attempts():
            with attempt:
                if self._store.get(PARTITION, group_key(group.id)) is not None:
                    raise AlreadyExists("Already exists", kind="group_exists")
                attempt.write([write_group(group)])

    def delete(self, group_id: str) -> None:
        """Removes a group with its memberships and attachments; raises NotFound."""
        for attempt in self._changes.attempts():
            with attempt:
                self.get(group_id)
                keys = [group_key(group_id), *relations_of(self._store, group_id)]
                attempt.write([Write(PARTITION, key, None) for key in keys])


def relations_of(store: KeyValueStore, group_id: str) -> list[bytes]:
    """Returns the keys of a group's memberships and attached policies."""
    return [
        prefix + name.encode()
        for prefix in (members_prefix(group_id), group_policies_prefix(group_id))
        for name in scan_names(store, prefix)
    ]


def write_group(group: Group) -> Write:
    """Returns the write that adds a group."""
    record = records.GroupData(
        created_at={"seconds": group.created_at},
        display_name=group.id,
        description=group.description,
    )
    return Write(PARTITION, group_key(group.id), record.SerializeToString())


@lru_cache(maxsize=4096)
def _decode(group_id: str, value: bytes) -> Group:
    try:
        record = records.GroupData.FromString(value)
    except DecodeError:
        raise Corrupt("a group's record cannot be read", path=group_id) from None
    return Group(id=group_id, created_at=record.created_at.seconds, description=record.description)
