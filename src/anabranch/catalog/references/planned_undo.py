"""Plans of undo: of an operation, of one of its references, and of a restore of all references; and
what their actor must be allowed to read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from anabranch.access.actors.actor import Actor
from anabranch.catalog.references.admitted_changes import (
    require_permissions,
    require_settings_permissions,
)
from anabranch.catalog.references.readable_references import (
    readable_references,
    readable_settings,
)
from anabranch.errors import Conflict, Denied
from anabranch.model.references.operation import ReferenceChanged, SettingChanged
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.operations.planner import UndoPlan
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["OwnWorkspace", "Plans", "RestoreTo", "UndoOf", "require_readable", "require_settings"]


class Plans(Protocol):
    """What makes a plan, again and again while references change."""

    def plan(self) -> UndoPlan:
        """Returns the plan, from the present state."""


class UndoOf(msgspec.Struct, frozen=True):
    """Plans to undo an operation, or its change of the reference with the key `only`."""

    core: Core
    repository: Repository
    operation_id: str
    only: bytes | None = None

    def plan(self) -> UndoPlan:
        """Returns the plan. Raises what `Undo.plan_undo` raises."""
        return self.core.undo.plan_undo(self.repository, self.operation_id, self.only)


class RestoreTo(msgspec.Struct, frozen=True):
    """Plans to restore what was right after an operation, if the actor may change all of that."""

    core: Core
    repository: Repository
    operation_id: str
    actor: Actor | None

    def plan(self) -> UndoPlan:
        """Returns the plan. Raises Denied, and what `Undo.plan_restore` raises."""
        try:
            made = self.core.undo.plan_restore(self.repository, self.operation_id)
        except Conflict:
            # what is in the way is named, so it must be one that the actor may read
            for each in self.core.operation_log.since(self.repository, self.operation_id):
                require_readable(self.repository, each.operation.changes, self.actor)
            raise
        if self.actor is not None:
            require_readable(self.repository, made.changes, self.actor)
            require_permissions(self.core, self.repository, made.changes, self.actor, own=False)
            require_settings(self.repository, made.settings, self.actor)
        return made


class OwnWorkspace(msgspec.Struct, frozen=True):
    """The condition of an undo in a workspace, asked for once it is planned: a caller with keys has
    those of this workspace, and not of an earlier one of its name.
    """

    core: Core
    repository: Repository
    workspace: str

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns no writes: the plan has the condition that the branch is unchanged. Raises
        NotFound.
        """
        self.core.workspaces.require_own(self.repository, self.workspace)
        return (), ()


def require_readable(
    repository: Repository, changes: Sequence[ReferenceChanged], actor: Actor | None
) -> None:
    """Raises Denied unless an actor may read the branches and tags that have changed."""
    if actor is None:
        return
    if len(readable_references(repository, changes, actor)) < len(changes):
        raise _unreadable("branches or tags")


def require_settings(
    repository: Repository, settings: Sequence[SettingChanged], actor: Actor | None
) -> None:
    """Raises Denied unless an actor may read and change settings."""
    if actor is None or not settings:
        return
    if len(readable_settings(repository, settings, actor)) < len(settings):
        raise _unreadable("settings")
    require_settings_permissions(repository.id, settings, actor)


def _unreadable(changed: str) -> Denied:
    return Denied(
        f"the operation has changed {changed} that you may not read",
        kind="insufficient_permissions",
        hint="Ask a user who may read all of them.",
    )
