"""The changes of references that an actor may read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Action, Permission, branch_arn, tag_arn
from anabranch.model.references.operation import BranchChanged, LoggedOperation, ReferenceChanged

__all__ = ["readable_operation", "readable_references"]


def readable_references(
    repository: str, changes: Sequence[ReferenceChanged], actor: Actor
) -> Sequence[ReferenceChanged]:
    """Returns the changes of the branches and tags of a repository that an actor may read."""
    return [each for each in changes if actor.may(_needed(repository, each))]


def readable_operation(
    repository: str, operation: LoggedOperation, actor: Actor | None
) -> LoggedOperation:
    """Returns an operation with the changes that an actor may read; without an actor, with all."""
    if actor is None or actor.is_unlimited:
        return operation
    readable = readable_references(repository, operation.changes, actor)
    return msgspec.structs.replace(operation, changes=tuple(readable))


def _needed(repository: str, change: ReferenceChanged) -> Permission:
    if isinstance(change, BranchChanged):
        return Permission(Action.READ_BRANCH, branch_arn(repository, change.name))
    return Permission(Action.READ_TAG, tag_arn(repository, change.name))
