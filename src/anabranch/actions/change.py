"""A change of a repository, and what its hooks see of it.

A change without hooks is NO_HOOKS, whose functions do nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from anabranch.model.repositories.repository import Repository
from anabranch.versioning.commits.branch_change import Examination
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["NO_HOOKS", "STAGED_WITHOUT_HOOKS", "Change", "Kind", "Subject", "name_of"]

Kind = Literal[
    "commit",
    "merge",
    "create-tag",
    "delete-tag",
    "create-branch",
    "delete-branch",
    "expire-branch",
    "revert",
    "cherry-pick",
]


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a change concerns, as webhooks see it; see `HookEvent`. Times and the result of the
    change are not part of it.
    """

    branch: str = ""
    tag: str = ""
    source_ref: str = ""
    commit_id: str = ""
    commit_message: str = ""
    committer: str = ""
    commit_metadata: Mapping[str, str] = {}
    merge_source: str = ""


class Change:
    """A change without hooks."""

    has_hooks = False

    def __init__(self, *, is_staged: bool = False) -> None:
        self.is_staged = is_staged
        """Whether the branch was seen to have changes in its active staging area."""

    @property
    def examination(self) -> Examination | None:
        """The hooks before a branch moves to a commit; None if there are none."""
        return None

    def prepare(self) -> None:
        """Runs the hooks that may still write to the branch. Raises what `before` raises."""

    def before(self) -> None:
        """Runs the hooks before the change. Raises PreconditionFailed if one fails."""

    def writes_for(self, result: object, /) -> ExtraWrites:  # noqa: ARG002  nothing to record
        """Returns the writes to add to those of the change: of its commit, if it has one."""
        return (), ()

    def end(self) -> None:
        """Lets the hooks after the change run, since it was made."""


NO_HOOKS = Change()
STAGED_WITHOUT_HOOKS = Change(is_staged=True)


def name_of(repository: Repository, subject: Subject) -> str:
    """Returns the name of what a change concerns: a branch, or the tags of a repository."""
    return f"{repository.id}/{subject.branch}" if subject.branch else f"tags of {repository.id}"
