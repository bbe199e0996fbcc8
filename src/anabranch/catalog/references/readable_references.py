"""The changes of references, settings and records that an actor may read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import (
    Action,
    Permission,
    branch_arn,
    group_arn,
    policy_arn,
    repository_arn,
    tag_arn,
)
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
    SettingChanged,
)
from anabranch.model.repositories.repository import Repository
from anabranch.model.uri import IMAGES

__all__ = [
    "has_images",
    "readable_operation",
    "readable_records",
    "readable_references",
    "readable_settings",
]

_SETTINGS = {
    "branch_ends": Action.GET_BRANCH_PROTECTION_RULES,
    "branch_protection": Action.GET_BRANCH_PROTECTION_RULES,
    "garbage_rules": Action.GET_GARBAGE_COLLECTION_RULES,
    "notifications": Action.UPDATE_REPOSITORY,
    "pull_request": Action.READ_PULL_REQUEST,
    "undo_days": Action.GET_GARBAGE_COLLECTION_RULES,
}
"""What reads a setting; all others are read with the repository."""

_RECORDS = {
    "policy": (Action.READ_POLICY, policy_arn),
    "group": (Action.READ_GROUP, group_arn),
    "repository": (Action.READ_REPOSITORY, repository_arn),
}
"""What reads a record of the installation; of all others only that they exist is in the log."""

_WITHHELD = b""


def readable_references(
    repository: Repository, changes: Sequence[ReferenceChanged], actor: Actor
) -> Sequence[ReferenceChanged]:
    """Returns the changes of the branches and tags of a repository that an actor may read."""
    return [each for each in changes if actor.may(_needed(repository, each))]


def readable_settings(
    repository: Repository, settings: Sequence[SettingChanged], actor: Actor
) -> Sequence[SettingChanged]:
    """Returns the changes of the settings of a repository that an actor may read."""
    arn = repository_arn(repository.id)
    return [
        each
        for each in settings
        if actor.may(Permission(_SETTINGS.get(each.kind, Action.READ_REPOSITORY), arn))
    ]


def readable_operation(
    repository: Repository, operation: LoggedOperation, actor: Actor | None
) -> LoggedOperation:
    """Returns an operation with the changes that an actor may read; without an actor, with all."""
    if actor is None or actor.is_unlimited:
        return operation
    readable = readable_references(repository, operation.changes, actor)
    settings = readable_settings(repository, operation.settings, actor)
    return msgspec.structs.replace(operation, changes=tuple(readable), settings=tuple(settings))


def readable_records(operation: LoggedOperation, actor: Actor) -> LoggedOperation:
    """Returns an operation of the installation with the records that an actor may read; of others
    only that they were there, as empty ones.
    """
    if actor.is_unlimited:
        return operation
    settings = tuple(
        each if _may_read(each, actor) else _without_records(each) for each in operation.settings
    )
    return msgspec.structs.replace(operation, settings=settings)


def _may_read(change: SettingChanged, actor: Actor) -> bool:
    if change.kind not in _RECORDS:
        return True
    action, arn = _RECORDS[change.kind]
    return actor.may(Permission(action, arn(change.name)))


def _without_records(change: SettingChanged) -> SettingChanged:
    before, after = (None if each is None else _WITHHELD for each in (change.before, change.after))
    return msgspec.structs.replace(change, before=before, after=after)


def has_images(repository: Repository) -> bool:
    """Returns whether the tags of a repository are images. A writable one is a user's own."""
    return repository.id == IMAGES and repository.read_only


def _needed(repository: Repository, change: ReferenceChanged) -> Permission:
    if isinstance(change, BranchChanged):
        return Permission(Action.READ_BRANCH, branch_arn(repository.id, change.name))
    image = change.name if has_images(repository) else ""
    return Permission(Action.READ_TAG, tag_arn(repository.id, change.name), image=image)
