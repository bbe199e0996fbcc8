"""Proposals: the pull request of a workspace, and what its description says."""

from __future__ import annotations

import msgspec

from anabranch.catalog.workspaces.reads import ReadRecorder
from anabranch.errors import Conflict
from anabranch.model.pull_request import MAX_TITLE_CHARACTERS, PullRequest
from anabranch.model.references.workspace import Workspace
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["ProposalAddition", "already_proposed", "describe", "title_of"]


def title_of(workspace: Workspace) -> str:
    """Returns the title of a proposal: the first line of the purpose, or the workspace's name."""
    lines = workspace.purpose.strip().splitlines()
    return (lines[0] if lines else f"Workspace {workspace.branch}")[:MAX_TITLE_CHARACTERS]


def describe(workspace: Workspace, text: str) -> str:
    """Returns the description of a proposal: a text, and what the workspace is for, as Markdown.
    What its creator wrote is in a block of code, so that it cannot look like anything else.
    """
    rows = [
        ("workspace", workspace.branch),
        ("run", workspace.run_id),
        ("source", f"{workspace.source} at {workspace.source_commit}"),
        ("reads", ", ".join(workspace.readable) or "everything"),
        ("writes", ", ".join(workspace.writable) or "nothing"),
        *sorted(workspace.metadata.items()),
    ]
    facts = "\n".join(f"    {name}: {_one_line(value)}" for name, value in rows if value)
    purpose = "\n".join(f"    {line}" for line in workspace.purpose.splitlines())
    parts = [text, f"Purpose:\n\n{purpose}" if purpose else "", f"Made in a workspace:\n\n{facts}"]
    return "\n\n".join(part for part in parts if part)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def already_proposed(workspace: Workspace) -> Conflict:
    """Returns the error for a second proposal."""
    return Conflict(
        f"the workspace is proposed as pull request {workspace.pull_request}",
        kind="already_proposed",
        hint="What it commits from now on is part of that pull request.",
    )


class ProposalAddition(msgspec.Struct, frozen=True):
    """Extra writes of a new pull request, which name it in its workspace and keep what that has
    read.
    """

    core: Core
    repository: Repository
    workspace: str
    reads: ReadRecorder

    def writes_for(self, pull: PullRequest, /) -> ExtraWrites:
        """Returns the writes. Raises Conflict if the workspace has one, NotFound if it ended."""
        stored = self.core.workspaces.read(self.repository, self.workspace)
        self.core.workspaces.require_own(self.repository, self.workspace)
        if stored.workspace.pull_request:
            raise already_proposed(stored.workspace)
        changed = msgspec.structs.replace(stored.workspace, pull_request=pull.id)
        writes, expect = stored.replaced_by(self.repository, changed)
        kept, _ = self.reads.kept_with(self.repository, self.workspace, pull.id)
        return [*writes, *kept], expect
