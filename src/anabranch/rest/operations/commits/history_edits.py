"""Changes of a branch's history: reverts, cherry-picks and rebases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.policies.permissions import Action
from anabranch.model.commits import commit as model
from anabranch.rest.operations.commits.commits import Commit, to_commit
from anabranch.rest.operations.commits.merges import MERGE_NEEDS
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation, OtherResponse
from anabranch.rest.protocol.parameters import AtBranch, Int64
from anabranch.rest.protocol.resources import (
    on_branch,
)
from anabranch.rest.protocol.responses import no_content
from anabranch.rest.schemas.merge_conflicts import (
    MergeConflictResult,
    Resolutions,
    described_conflicts,
)
from anabranch.versioning.merging.rebase import Rebased

__all__ = ["EXTENSIONS", "OPERATIONS"]

_MAX_REVERTED = 1000


class CommitOverrides(Body, frozen=True, kw_only=True):
    """Message and metadata that replace those of a commit."""

    message: str = ""
    metadata: dict[str, str] | UnsetType = UNSET


class RevertCreation(Body, frozen=True, kw_only=True):
    """The commit to revert; for a merge, relative to the parent `parent_number`."""

    ref: str
    parent_number: Int64
    commit_overrides: CommitOverrides | UnsetType = UNSET
    force: bool = False
    allow_empty: bool = False
    strategy: str = ""
    resolutions: Resolutions = field(default_factory=list)


class RevertsCreation(Body, frozen=True, kw_only=True):
    """The commits to revert, in this order; merges relative to the parent `parent_number`."""

    refs: Annotated[list[str], Meta(min_length=1, max_length=_MAX_REVERTED)]
    parent_number: Int64 = 0
    commit_overrides: CommitOverrides | UnsetType = UNSET
    force: bool = False
    allow_empty: bool = False
    strategy: str = ""
    resolutions: Resolutions = field(default_factory=list)


class Reverts(msgspec.Struct, frozen=True):
    """The new commits, in the order of those that they revert."""

    results: list[Commit]


class CherryPickCreation(Body, frozen=True, kw_only=True):
    """The commit to cherry-pick; for a merge, relative to the parent `parent_number`."""

    ref: str
    parent_number: Int64 | UnsetType = UNSET
    commit_overrides: CommitOverrides | UnsetType = UNSET
    force: bool = False
    strategy: str = ""
    resolutions: Resolutions = field(default_factory=list)


class RebaseCreation(Body, frozen=True, kw_only=True):
    """The reference whose commit becomes the branch's new base."""

    onto: Annotated[str, Meta(min_length=1, description="a branch, tag or commit")]
    force: bool = False
    strategy: str = ""
    resolutions: Resolutions = field(default_factory=list)


class RebaseResult(msgspec.Struct, frozen=True):
    """The branch's new head, and how many commits were replayed and dropped."""

    commit_id: str
    replayed: int
    dropped: Annotated[int, Meta(description="commits whose changes the new base has already")]


def revert_branch(call: Call[AtBranch, RevertCreation]) -> None:
    """Reverts a commit by a new one."""
    body = call.body
    message, metadata = _overrides(body.commit_overrides)
    with described_conflicts(call):
        call.services.catalog.branches.revert(
            call.params.repository,
            call.params.branch,
            body.ref,
            parent_number=body.parent_number,
            committer=call.committer,
            message=message,
            metadata=metadata,
            allow_empty=body.allow_empty,
            force=body.force,
            strategy=body.strategy,
            resolutions=body.resolutions,
            rights=call.object_rights,
            extra_writes=call.recording(no_content),
        )


def cherry_pick(call: Call[AtBranch, CherryPickCreation]) -> Commit:
    """Applies the changes of another commit."""
    body = call.body
    message, metadata = _overrides(body.commit_overrides)
    with described_conflicts(call):
        commit = call.services.catalog.branches.cherry_pick(
            call.params.repository,
            call.params.branch,
            body.ref,
            parent_number=None if body.parent_number is UNSET else body.parent_number,
            committer=call.committer,
            message=message,
            metadata=metadata,
            force=body.force,
            strategy=body.strategy,
            resolutions=body.resolutions,
            rights=call.object_rights,
            extra_writes=call.recording(to_commit),
        )
    return to_commit(commit)


def revert_commits(call: Call[AtBranch, RevertsCreation]) -> Reverts:
    """Reverts several commits, each by a new one; either all or none."""
    body = call.body
    message, metadata = _overrides(body.commit_overrides)
    with described_conflicts(call):
        made = call.services.catalog.branches.revert(
            call.params.repository,
            call.params.branch,
            *body.refs,
            parent_number=body.parent_number,
            committer=call.committer,
            message=message,
            metadata=metadata,
            allow_empty=body.allow_empty,
            force=body.force,
            strategy=body.strategy,
            resolutions=body.resolutions,
            rights=call.object_rights,
            extra_writes=call.recording(_to_reverts),
        )
    return _to_reverts(made)


def _to_reverts(made: Sequence[model.Commit]) -> Reverts:
    return Reverts([to_commit(commit) for commit in made])


def rebase_branch(call: Call[AtBranch, RebaseCreation]) -> RebaseResult:
    """Replays a branch's own commits onto another reference."""
    with described_conflicts(call):
        rebased = call.services.catalog.rebase.rebase(
            call.params.repository,
            call.params.branch,
            call.body.onto,
            committer=call.committer,
            force=call.body.force,
            strategy=call.body.strategy,
            resolutions=call.body.resolutions,
            rights=call.object_rights,
            extra_writes=call.recording(_to_rebase_result),
        )
    return _to_rebase_result(rebased)


def _to_rebase_result(rebased: Rebased) -> RebaseResult:
    return RebaseResult(rebased.head.id, rebased.replayed, rebased.dropped)


def _overrides(overrides: CommitOverrides | UnsetType) -> tuple[str, dict[str, str] | None]:
    if overrides is UNSET:
        return "", None
    return overrides.message, None if overrides.metadata is UNSET else overrides.metadata


_BRANCH = "/repositories/{repository}/branches/{branch}"
_CONFLICT = OtherResponse(status=409, description="Conflict", type=MergeConflictResult)

OPERATIONS = (
    Operation(
        id="revertBranch",
        tag="branches",
        method="POST",
        path=_BRANCH + "/revert",
        summary="revert",
        permission=(
            Need(Action.REVERT_BRANCH, on_branch),
            *MERGE_NEEDS,
        ),
        params=AtBranch,
        body=RevertCreation,
        status=204,
        keyed=True,
        handler=revert_branch,
    ),
    Operation(
        id="cherryPick",
        tag="branches",
        method="POST",
        path=_BRANCH + "/cherry-pick",
        summary="apply one commit again",
        permission=(
            Need(Action.CREATE_COMMIT, on_branch),
            *MERGE_NEEDS,
        ),
        params=AtBranch,
        body=CherryPickCreation,
        status=201,
        response=Commit,
        keyed=True,
        handler=cherry_pick,
    ),
)

EXTENSIONS = (
    Operation(
        id="revertCommits",
        tag="branches",
        method="POST",
        path=_BRANCH + "/reverts",
        summary="revert several commits, in order",
        permission=(
            Need(Action.REVERT_BRANCH, on_branch),
            *MERGE_NEEDS,
        ),
        params=AtBranch,
        body=RevertsCreation,
        response=Reverts,
        others=(_CONFLICT,),
        keyed=True,
        handler=revert_commits,
    ),
    Operation(
        id="rebaseBranch",
        tag="branches",
        method="POST",
        path=_BRANCH + "/rebase",
        summary="replay a branch's own commits onto another reference",
        permission=(
            Need(Action.CREATE_COMMIT, on_branch),
            *MERGE_NEEDS,
        ),
        params=AtBranch,
        body=RebaseCreation,
        response=RebaseResult,
        others=(_CONFLICT,),
        keyed=True,
        handler=rebase_branch,
    ),
)
"""Operations that lakeFS does not have."""
