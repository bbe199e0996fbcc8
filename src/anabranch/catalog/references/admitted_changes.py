"""Changes of references that undo makes, admitted one by one.

Undo must not do what its user could not do by hand: each branch and tag that it creates, moves or
deletes needs the permission, passes the hooks and keeps to the protection of that very change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import (
    Action,
    AllBelow,
    Permission,
    branch_arn,
    image_arn,
    object_arn,
    repository_arn,
    tag_arn,
)
from anabranch.actions.change import Change, Kind, Subject
from anabranch.actions.changes import Changes
from anabranch.catalog.protection import Protection
from anabranch.catalog.references.pulls_merged_by_undo import PullsMergedByUndo
from anabranch.catalog.references.readable_references import has_images
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.references.operation import (
    BranchChanged,
    ReferenceChanged,
    SettingChanged,
    TagChanged,
)
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.pins import AdmitCommits
from anabranch.versioning.operations.planner import UndoPlan
from anabranch.versioning.references.protection import AdmitDeletion
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = [
    "AdmittedChanges",
    "inverse",
    "require_permissions",
    "require_settings_permissions",
]

_SETTINGS = {
    "branch_ends": Action.SET_BRANCH_PROTECTION_RULES,
    "branch_protection": Action.SET_BRANCH_PROTECTION_RULES,
    "garbage_rules": Action.SET_GARBAGE_COLLECTION_RULES,
    "pull_request": Action.WRITE_PULL_REQUEST,
    "undo_days": Action.SET_GARBAGE_COLLECTION_RULES,
}
"""What changes a setting; all others are changed with the repository."""


def require_settings_permissions(
    repository: str, settings: Sequence[SettingChanged], actor: Actor
) -> None:
    """Raises Denied unless an actor may change all of these settings."""
    arn = repository_arn(repository)
    needed = (_SETTINGS.get(each.kind, Action.UPDATE_REPOSITORY) for each in settings)
    authorize(actor, [Permission(action, arn) for action in needed])


def require_permissions(
    core: Core,
    repository: Repository,
    changes: Sequence[ReferenceChanged],
    actor: Actor,
    *,
    own: bool,
) -> None:
    """Raises Denied unless an actor may make all changes of references. Staged changes that return
    to a branch need the permission to write and delete all of its objects, unless it was an `own`
    operation of the actor that discarded them.
    """
    authorize(actor, _needed(core, repository, changes, own=own))


def inverse(changes: Sequence[ReferenceChanged]) -> list[ReferenceChanged]:
    """Returns the changes that undo changes, with the staging areas that return."""
    return [
        BranchChanged(each.after, each.before, each.discarded)
        if isinstance(each, BranchChanged)
        else TagChanged(each.after, each.before)
        for each in changes
    ]


def _needed(
    core: Core, repository: Repository, changes: Sequence[ReferenceChanged], *, own: bool
) -> Iterator[Permission]:
    for change in changes:
        if isinstance(change, TagChanged):
            yield from _needed_of_tag(repository, change)
            continue
        arn = branch_arn(repository.id, change.name)
        if change.before is None:
            yield Permission(Action.CREATE_BRANCH, arn)
        elif change.after is None:
            yield Permission(Action.DELETE_BRANCH, arn)
        else:
            yield Permission(Action.REVERT_BRANCH, arn)
            if change.before.expires_at != change.after.expires_at:
                yield Permission(Action.CREATE_BRANCH, arn)
                yield Permission(Action.DELETE_BRANCH, arn)
        if not own and change.discarded and not core.staging.is_empty(change.discarded):
            everything = AllBelow(object_arn(repository.id, ""))
            for action in (Action.WRITE_OBJECT, Action.DELETE_OBJECT):
                yield Permission(action, everything, branch=change.name)


def _needed_of_tag(repository: Repository, change: TagChanged) -> Iterator[Permission]:
    if has_images(repository):
        deletion, creation = Action.DELETE_IMAGE, Action.CREATE_IMAGE
        arn = image_arn(change.name)
    else:
        deletion, creation = Action.DELETE_TAG, Action.CREATE_TAG
        arn = tag_arn(repository.id, change.name)
    if change.before is not None:
        yield Permission(deletion, arn)
    if change.after is not None:
        yield Permission(creation, arn)


class AdmittedChanges:
    """The changes of a plan with their hooks and conditions."""

    def __init__(
        self,
        core: Core,
        protection: Protection,
        changes: Changes,
        repository: Repository,
        plan: UndoPlan,
    ) -> None:
        """Raises ProtectedBranch, and what the hooks before the changes raise."""
        self._core = core
        self._protection = protection
        self._repository = repository
        self._pulls = PullsMergedByUndo(core, repository, plan)
        self._hooks: list[Change] = []
        self._admitted: list[tuple[ExtraWritesFor[Any], object]] = []
        for change in plan.changes:
            if isinstance(change, BranchChanged):
                self._admit_branch(change)
            else:
                self._admit_tag(change)
        for change in plan.changes:
            for kind, subject in _hooked(change):
                place = Resolved(subject.commit_id)
                hooks = changes.begin(kind, repository, subject, place)
                self._hooks.append(hooks)
                self._admitted.append((hooks, change.after if kind.startswith("create") else None))
        for hooks in self._hooks:
            hooks.before()

    def extra_writes(self) -> tuple[list[Write], list[Expect]]:
        """Returns the writes to add to the changes, and the conditions on which they are admitted.
        Raises CommitExpired for a commit that has lost objects, and ProtectedBranch.
        """
        writes: list[Write] = []
        conditions: list[Expect] = []
        for part, result in self._admitted:
            added, expect = part.writes_for(result)
            writes += added
            conditions += expect
        return writes, conditions

    def end(self) -> None:
        """Lets the hooks after the changes run, since they were made."""
        for hooks in self._hooks:
            hooks.end()

    def _admit_tag(self, change: TagChanged) -> None:
        if change.after is not None:
            self._admit_commit(change.after.commit_id)

    def _admit_branch(self, change: BranchChanged) -> None:
        core, repository, name = self._core, self._repository, change.name
        if change.after is None:
            core.protection.admit_deletion(repository, name)  # before hooks learn of it
            self._admitted.append((AdmitDeletion(core.protection, repository, name), None))
            return
        self._admit_commit(change.after.commit_id)
        if change.before is None:
            if change.discarded:  # no caller may stage changes there
                self._protection.require_writable(repository, name)
            return
        if change.before.commit_id == change.after.commit_id:
            self._protection.require_writable(repository, name)
            return
        self._protection.require_unprotected(repository, name)
        self._admitted.append((core.protection.admission(repository, name), None))
        self._admitted.append((self._pulls, change))

    def _admit_commit(self, commit_id: str) -> None:
        self._admitted.append((AdmitCommits(self._core.pins, self._repository, [commit_id]), None))


def _hooked(change: ReferenceChanged) -> Iterator[tuple[Kind, Subject]]:
    """Yields the kinds of hooks that a change has, with what they see of it. The move of a branch
    has none, like a hard reset.
    """
    before = "" if change.before is None else change.before.commit_id
    after = "" if change.after is None else change.after.commit_id
    if isinstance(change, TagChanged):
        if before:
            yield "delete-tag", Subject(tag=change.name, source_ref=before, commit_id=before)
        if after:
            yield "create-tag", Subject(tag=change.name, source_ref=after, commit_id=after)
    elif not after:
        yield "delete-branch", Subject(branch=change.name, source_ref=before, commit_id=before)
    elif not before:
        yield "create-branch", Subject(branch=change.name, source_ref=after, commit_id=after)
