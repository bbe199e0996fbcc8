"""What is killed at each step: changes of users, groups, policies and repositories, and their undo
in the log of the installation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from anabranch.access.access import Access
from anabranch.access.actors.actor import Actor
from anabranch.access.identities.groups import Group
from anabranch.access.identities.users import User
from anabranch.access.policies.policies import Policy
from anabranch.access.policies.statements import ALLOW_ALL, Effect, Statement
from anabranch.catalog.repositories.installation_log import InstallationOperations
from anabranch.errors import NotFound
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.library import Lake
from anabranch.model.commits.change import Change
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.secret import Secret
from anabranch.testing.lake import Clock, lake_in
from anabranch.versioning.operations.logged_records import INSTALLATION
from support.faults.killed_steps import main

__all__ = ["ACTIONS", "Installation"]

_NOW = 1_700_000_000
_ADMIN = Actor(username="admin", statements=[ALLOW_ALL])
_LISTED = 100
_SIDES_MISSING = {
    "creation": (True, False),
    "change": (False, False),
    "deletion": (False, True),
}


class _Opened(NamedTuple):
    lake: Lake
    access: Access

    @property
    def log(self) -> InstallationOperations:
        """The log of the installation."""
        return InstallationOperations(self.lake.core, self.lake.repositories, self.access)


def _opened(lake: Lake, clock: Clock) -> _Opened:
    return _Opened(lake, Access(lake.core.keyvalue, Secret("a key of tests"), clock=clock))


def _statements(action: str) -> tuple[Statement, ...]:
    return (Statement(Effect.ALLOW, (action,), ("*",)),)


def _policy(access: Access, name: str) -> None:
    access.policies.create(
        Policy(id=name, created_at=_NOW, statements=_statements("fs:ReadObject"))
    )


def _fill(access: Access, name: str) -> None:
    """Makes a group with members and policies, and users with policies of their own."""
    access.groups.create(Group(id=name, created_at=_NOW))
    for number in (1, 2):
        user, policy = f"{name}-user-{number}", f"{name}-policy-{number}"
        access.users.create(User(username=user, created_at=_NOW))
        _policy(access, policy)
        access.memberships.add(name, user)
        access.group_attachments.add(name, policy)
        access.user_attachments.add(user, policy)


def _undo(what: str, kind: str, name: str) -> Callable[[_Opened], object]:
    """Returns what undoes the first operation that has created, changed or deleted something."""

    def is_it(each: LoggedOperation) -> bool:
        return any(
            (one.kind, one.name) == (kind, name)
            and (one.before is None, one.after is None) == _SIDES_MISSING[what]
            for one in each.settings
        )

    def undo(opened: _Opened) -> object:
        for each in reversed(opened.log.list(_ADMIN, amount=_LISTED).items):
            if is_it(each):
                return opened.log.undo(each.id, _ADMIN)
        raise NotFound("there is no such operation")

    return undo


ACTIONS: dict[str, Callable[[_Opened], object]] = {
    "delete a group": lambda opened: opened.access.groups.delete("team"),
    "delete a policy": lambda opened: opened.access.policies.delete("team-policy-1"),
    "delete a user": lambda opened: opened.access.users.delete("team-user-1"),
    "change a policy": lambda opened: opened.access.policies.replace(
        "team-policy-1", _statements("fs:WriteObject")
    ),
    "undo the deletion of a group": _undo("deletion", "group", "former"),
    "undo the creation of a group": _undo("creation", "group", "empty"),
    "undo the deletion of a policy": _undo("deletion", "policy", "old-policy-2"),
    "undo the creation of a policy": _undo("creation", "policy", "unused"),
    "undo a change of a policy": _undo("change", "policy", "changed"),
    "undo a membership": _undo("creation", "membership", "team/team-user-2"),
    "undo that a member was removed": _undo("deletion", "membership", "team/removed"),
    "undo an attachment to a user": _undo("creation", "user_policy", "team-user-2/team-policy-2"),
    "undo the deletion of a repository": _undo("deletion", "repository", "lost"),
    "undo the creation of a repository": _undo("creation", "repository", "new"),
}


def _access_state(access: Access) -> dict[str, object]:
    groups = [each.id for each in access.groups.page("", "", _LISTED).items]
    users = [each.username for each in access.users.page("", "", _LISTED).items]
    return {
        "policies": {each.id: repr(each.statements) for each in access.policies.all()},
        "members": {each: access.memberships.page(each, "", "", _LISTED).items for each in groups},
        "policies of groups": {
            each: access.group_attachments.page(each, "", "", _LISTED).items for each in groups
        },
        "policies of users": {
            each: access.user_attachments.page(each, "", "", _LISTED).items for each in users
        },
    }


def _changes(lake: Lake, repository: str) -> Sequence[Change]:
    return lake.branches.changes(repository, "main", amount=_LISTED).items


class Installation:
    """Groups, users, policies and repositories, of which some are deleted or changed."""

    def prepare(self, folder: Path, store: KeyValueStore) -> None:
        """Makes them."""
        clock = Clock(_NOW)
        with lake_in(folder, clock, store) as lake:
            access = _opened(lake, clock).access
            for name in ("team", "former", "old"):
                _fill(access, name)
            access.groups.create(Group(id="empty", created_at=_NOW))
            for name in ("unused", "changed"):
                _policy(access, name)
            access.policies.replace("changed", _statements("fs:DeleteObject"))
            access.users.create(User(username="removed", created_at=_NOW))
            access.memberships.add("team", "removed")
            access.memberships.remove("team", "removed")
            access.policies.delete("old-policy-2")
            access.groups.delete("former")
            for name in ("lost", "new"):
                lake.repositories.create(name, f"local://{name}")
            lake.objects.upload("lost", "main", "staged", [b"staged"])
            lake.repositories.delete("lost")

    def act(self, folder: Path, store: KeyValueStore, action: str) -> None:
        """Does an action."""
        clock = Clock(_NOW)
        with lake_in(folder, clock, store) as lake:
            ACTIONS[action](_opened(lake, clock))

    def state(self, folder: Path, store: KeyValueStore, action: str) -> object:  # noqa: ARG002
        """Returns what is there."""
        clock = Clock(_NOW)
        with lake_in(folder, clock, store) as lake:
            opened = _opened(lake, clock)
            log = list(lake.core.operation_log.all(INSTALLATION))
            return {
                "access": _access_state(opened.access),
                "repositories": {
                    each.id: [one.path for one in _changes(lake, each.id)]
                    for each in lake.repositories.list(amount=_LISTED).items
                },
                "deleted": [each.repository.id for each in lake.repositories.deleted()],
                "log": [
                    sorted(f"{one.kind} {one.name} {one.after!r}" for one in each.settings)
                    for each in log
                ],
                "undone": [bool(each.undone_at) for each in log],
            }


if __name__ == "__main__":
    main(Installation(), *sys.argv[1:])
