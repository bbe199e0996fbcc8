"""Groups as resources of SCIM. Members are users; what else clients store is in a document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from scim2_models import InvalidValueException, UniquenessException

from anabranch.access.access import Access
from anabranch.access.identities.defaults import write_membership
from anabranch.access.identities.groups import Group as AccessGroup
from anabranch.access.identities.groups import write_group
from anabranch.access.records.layout import PARTITION, check_name, members_prefix
from anabranch.access.records.record_pages import scan_names
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.scim.documents import Document, Documents
from anabranch.scim.resources import POLICY, Group, Member, fold_case, meta

__all__ = ["ScimGroups"]

_DERIVED = {"schemas", "id", "meta", "members", "display_name"}
_PAGE = 1000


class ScimGroups:
    """The groups. `clock` returns seconds since 1970; `base` in methods is the URL of the
    service.
    """

    def __init__(self, store: KeyValueStore, access: Access, clock: Callable[[], float]) -> None:
        self._store = store
        self._access = access
        self._clock = clock
        self._documents = Documents(store, "groups")

    def all(self, base: str, name: str | None = None) -> list[Group]:
        """Returns all groups, or those of a name, folded by `fold_case`."""
        groups = self._all_groups()
        if name is not None:
            groups = (group for group in groups if fold_case(group.id) == name)
        return list(self._resources(groups, base))

    def get(self, name: str, base: str) -> Group:
        """Returns a group; raises NotFound."""
        return next(self._resources([self._access.groups.get(name)], base))

    def create(self, resource: Group, base: str) -> Group:
        """Adds a group and returns the stored resource. Raises UniquenessException if there is one
        of that name, in any case of letters, Invalid for a bad name, and InvalidValueException for
        an unknown member.
        """
        name = resource.display_name or ""
        check_name(name, "group")

        for attempt in self._access.changes.attempts():
            with attempt:
                if any(fold_case(other.id) == fold_case(name) for other in self._all_groups()):
                    raise UniquenessException(detail=f"there is a group {name!r}")
                group = AccessGroup(id=name, created_at=int(self._clock()))
                attempt.write([write_group(group), *self._writes(group, resource)])
        return self.get(name, base)

    def change(self, name: str, change: Callable[[Group], Group], base: str) -> Group:
        """Changes a group to what `change` returns for the present resource, and returns the
        stored one. Raises NotFound, Conflict if no administrator would remain, and
        InvalidValueException for an unknown member.
        """
        for attempt in self._access.changes.attempts():
            with attempt:
                group = self._access.groups.get(name)
                attempt.write(self._writes(group, change(next(self._resources([group], base)))))
        return self.get(name, base)

    def delete(self, name: str) -> None:
        """Deletes a group with its memberships and attachments. Raises NotFound, and Conflict if
        no administrator would remain.
        """
        self._access.groups.delete(name)
        for attempt in self._access.changes.attempts():
            with attempt:
                attempt.write(self._leftover(name))

    def _leftover(self, name: str) -> list[Write]:
        # another request may have created the group again
        return [] if self._access.groups.find(name) else [self._documents.removal(name)]

    def _writes(self, group: AccessGroup, resource: Group) -> list[Write]:
        present = set(self._members(group.id))
        wanted = {member.value or "" for member in resource.members or []}
        added = sorted(wanted - present)
        users = self._access.users.find_many(added)
        missing = [name for name, user in zip(added, users, strict=True) if user is None]
        if missing:
            raise InvalidValueException(detail=f"there is no user {missing[0]!r}")
        prefix = members_prefix(group.id)
        attributes = resource.model_dump(
            scim_ctx=None, mode="json", by_alias=True, exclude_none=True, exclude=_DERIVED
        )
        document = Document(
            created_at=group.created_at, modified_at=int(self._clock()), attributes=attributes
        )
        return [
            *(write_membership(group.id, name) for name in added),
            *(Write(PARTITION, prefix + name.encode(), None) for name in sorted(present - wanted)),
            self._documents.write(group.id, document),
        ]

    def _members(self, group: str) -> Iterator[str]:
        return scan_names(self._store, members_prefix(group))

    def _all_groups(self) -> Iterator[AccessGroup]:
        after = ""
        while True:
            page = self._access.groups.page("", after, _PAGE)
            yield from page.items
            if not page.has_more:
                return
            after = page.next_offset

    def _resources(self, groups: Iterable[AccessGroup], base: str) -> Iterator[Group]:
        groups = list(groups)
        documents = self._documents.find_many({group.id: group.created_at for group in groups})
        for group, document in zip(groups, documents, strict=True):
            resource = Group.model_validate(
                {**document.attributes, "displayName": group.id},
                scim_ctx=None,
                scim_policy=POLICY,
            )
            resource.id = group.id
            members = [_member(name, base) for name in self._members(group.id)]
            resource.members = members or None
            resource.meta = meta("Group", base, group.id, group.created_at, document.modified_at)
            yield resource


def _member(name: str, base: str) -> Member:
    fields = {"value": name, "$ref": f"{base}/Users/{quote(name, safe='')}"}
    return Member.model_validate(fields, scim_ctx=None)
