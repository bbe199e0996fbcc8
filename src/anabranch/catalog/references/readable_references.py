"""The changes of references that an actor may read."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.access.actors.actor import Actor
from anabranch.access.policies.permissions import Action, Permission, branch_arn, tag_arn
from anabranch.model.references.operation import BranchChanged, ReferenceChanged

__all__ = ["readable_references"]


def readable_references(
    repository: str, changes: Sequence[ReferenceChanged], actor: Actor
) -> Sequence[ReferenceChanged]:
    """Returns the changes of the branches and tags of a repository that an actor may read."""
    return [each for each in changes if actor.may(_needed(repository, each))]


def _needed(repository: str, change: ReferenceChanged) -> Permission:
    if isinstance(change, BranchChanged):
        return Permission(Action.READ_BRANCH, branch_arn(repository, change.name))
    return Permission(Action.READ_TAG, tag_arn(repository, change.name))
