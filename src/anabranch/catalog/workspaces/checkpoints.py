"""Checkpoints: labels of commits of a workspace, written in the step of the commit."""

from __future__ import annotations

import msgspec

from anabranch.errors import AlreadyExists, Invalid, NotFound
from anabranch.model.commits.commit import Commit
from anabranch.model.references.workspace import Checkpoint, Workspace
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["SOURCE", "CheckpointAddition", "check_label", "find_checkpoint"]

SOURCE = "source"
"""The label of the commit at which each workspace begins."""

_MAX_CHECKPOINTS = 1000
_MAX_LABEL = 200


def check_label(workspace: Workspace, label: str) -> None:
    """Raises Invalid for a text that is no label, and AlreadyExists for one that is used."""
    if not label.strip() or len(label) > _MAX_LABEL or not label.isprintable():
        raise Invalid(f"a label has 1 to {_MAX_LABEL} printable characters", kind="invalid_label")
    if label == SOURCE or any(each.label == label for each in workspace.checkpoints):
        raise AlreadyExists(f"the workspace has a checkpoint {label!r}", kind="checkpoint_exists")
    if len(workspace.checkpoints) >= _MAX_CHECKPOINTS:
        raise Invalid(
            f"a workspace has at most {_MAX_CHECKPOINTS} checkpoints", kind="too_many_checkpoints"
        )


def find_checkpoint(workspace: Workspace, text: str) -> Checkpoint:
    """Returns the checkpoint with a label, or else with a commit id. Raises NotFound."""
    begun = Checkpoint(SOURCE, workspace.source_commit, workspace.created_at)
    known = [*workspace.checkpoints, begun]
    for each in (*known, *(msgspec.structs.replace(c, label=c.commit_id) for c in known)):
        if each.label == text:
            return each
    raise NotFound(
        f"the workspace has no checkpoint {text!r}",
        kind="checkpoint_not_found",
        hint="Its checkpoints: " + ", ".join(each.label for each in known[-10:]) + ".",
    )


class CheckpointAddition(msgspec.Struct, frozen=True):
    """Extra writes of a commit, which label it in its workspace."""

    core: Core
    repository: Repository
    workspace: str
    label: str
    now: int

    def checkpoint(self, commit_id: str) -> Checkpoint:
        """Returns the checkpoint of a commit."""
        return Checkpoint(self.label, commit_id, self.now)

    def writes_for(self, commit: Commit, /) -> ExtraWrites:
        """Returns the writes. Raises as `check_label` does."""
        return self.writes_at(commit.id)

    def writes_at(self, commit_id: str) -> ExtraWrites:
        """Returns the writes for the id of a commit."""
        stored = self.core.workspaces.read(self.repository, self.workspace)
        check_label(stored.workspace, self.label)
        added = (*stored.workspace.checkpoints, self.checkpoint(commit_id))
        changed = msgspec.structs.replace(stored.workspace, checkpoints=added)
        return stored.replaced_by(self.repository, changed)
