"""Branches: list, create, get, delete, reset, and what is not committed on them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.permissions import Action
from anabranch.model.branch import Branch
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.answer import TEXT, Answer
from anabranch.rest.call import Call
from anabranch.rest.commits import Commit, commit_of
from anabranch.rest.diffs import DiffList, uncommitted_list
from anabranch.rest.operation import Need, Operation
from anabranch.rest.pagination import PageOfRepository, amount_of
from anabranch.rest.parameters import Amount, AtBranch, InRepository, Int64
from anabranch.rest.references import Ref, RefList, ref_list, ref_of
from anabranch.rest.resources import on_branch, on_new_branch, on_repository

__all__ = ["OPERATIONS"]


class BranchCreation(msgspec.Struct, frozen=True, kw_only=True):
    """A branch to make, from any reference; a hidden one is left out of listings."""

    name: str
    source: str
    force: bool = False
    hidden: bool = False


class ResetCreation(msgspec.Struct, frozen=True, kw_only=True):
    """Which uncommitted changes to drop: all, those under a prefix, or one object's."""

    type: Literal["object", "common_prefix", "reset"]
    path: str = ""
    force: bool = False


class CommitOverrides(msgspec.Struct, frozen=True, kw_only=True):
    """What to put in place of a commit's own message and metadata."""

    message: str = ""
    metadata: dict[str, str] | UnsetType = UNSET


class RevertCreation(msgspec.Struct, frozen=True, kw_only=True):
    """The commit to undo; of a merge, `parent_number` says relative to which parent."""

    ref: str
    parent_number: Int64
    commit_overrides: CommitOverrides | UnsetType = UNSET
    force: bool = False
    allow_empty: bool = False


class CherryPickCreation(msgspec.Struct, frozen=True, kw_only=True):
    """The commit to apply again; of a merge, `parent_number` says relative to which parent."""

    ref: str
    parent_number: Int64 | UnsetType = UNSET
    commit_overrides: CommitOverrides | UnsetType = UNSET
    force: bool = False


class ListBranches(PageOfRepository, frozen=True, kw_only=True):
    """Parameters of listBranches."""

    show_hidden: bool = False


class ChangeBranch(AtBranch, frozen=True, kw_only=True):
    """Parameters of what a read-only repository refuses unless forced."""

    force: bool = False


class HardResetBranch(ChangeBranch, frozen=True, kw_only=True):
    """Parameters of hardResetBranch."""

    ref: Annotated[str, Meta(min_length=1, description="what the branch shall be at")]


class DiffBranch(AtBranch, frozen=True, kw_only=True):
    """Parameters of diffBranch."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    prefix: str = ""
    delimiter: str = ""


def list_branches(call: Call[ListBranches, None]) -> RefList:
    """Returns a page of branches."""
    asked = call.params
    page = call.services.catalog.branches.list(
        asked.repository,
        prefix=asked.prefix,
        after=asked.after,
        amount=amount_of(asked.amount),
        show_hidden=asked.show_hidden,
    )
    return ref_list(page)


def create_branch(call: Call[InRepository, BranchCreation]) -> Answer:
    """Makes a branch; the answer is the id of its commit, as plain text."""
    asked = call.body
    branch = call.services.catalog.branches.create(
        call.params.repository,
        asked.name,
        asked.source,
        hidden=asked.hidden,
        force=asked.force,
        beside=call.recording(_created),
    )
    return _created(branch)


def _created(branch: Branch) -> Answer:
    return Answer(201, branch.commit_id.encode(), content_type=TEXT)


def get_branch(call: Call[AtBranch, None]) -> Ref:
    """Returns a branch."""
    return ref_of(call.services.catalog.branches.get(call.params.repository, call.params.branch))


def delete_branch(call: Call[ChangeBranch, None]) -> None:
    """Removes a branch with what is uncommitted on it."""
    asked = call.params
    call.services.catalog.branches.delete(
        asked.repository, asked.branch, force=asked.force, beside=call.recording(_nothing)
    )


def reset_branch(call: Call[AtBranch, ResetCreation]) -> None:
    """Drops uncommitted changes."""
    call.services.catalog.branches.reset(
        call.params.repository,
        call.params.branch,
        call.body.type,
        call.body.path,
        force=call.body.force,
    )


def hard_reset_branch(call: Call[HardResetBranch, None]) -> None:
    """Moves a branch to another commit."""
    asked = call.params
    call.services.catalog.branches.hard_reset(
        asked.repository,
        asked.branch,
        asked.ref,
        force=asked.force,
        beside=call.recording(_nothing),
    )


def diff_branch(call: Call[DiffBranch, None]) -> DiffList:
    """Returns a page of what is uncommitted on a branch."""
    asked = call.params
    page = call.services.catalog.branches.changes(
        asked.repository,
        asked.branch,
        prefix=asked.prefix,
        after=asked.after,
        delimiter=asked.delimiter,
        amount=amount_of(asked.amount),
    )
    return uncommitted_list(page)


def revert_branch(call: Call[AtBranch, RevertCreation]) -> None:
    """Undoes a commit by a new one."""
    asked = call.body
    message, metadata = _overrides(asked.commit_overrides)
    call.services.catalog.branches.revert(
        call.params.repository,
        call.params.branch,
        asked.ref,
        parent_number=asked.parent_number,
        committer=call.committer,
        message=message,
        metadata=metadata,
        allow_empty=asked.allow_empty,
        force=asked.force,
        beside=call.recording(_nothing),
    )


def cherry_pick(call: Call[AtBranch, CherryPickCreation]) -> Commit:
    """Makes one commit's changes again by a new commit."""
    asked = call.body
    message, metadata = _overrides(asked.commit_overrides)
    commit = call.services.catalog.branches.cherry_pick(
        call.params.repository,
        call.params.branch,
        asked.ref,
        parent_number=None if asked.parent_number is UNSET else asked.parent_number,
        committer=call.committer,
        message=message,
        metadata=metadata,
        force=asked.force,
        beside=call.recording(commit_of),
    )
    return commit_of(commit)


def _overrides(overrides: CommitOverrides | UnsetType) -> tuple[str, dict[str, str] | None]:
    if overrides is UNSET:
        return "", None
    return overrides.message, None if overrides.metadata is UNSET else overrides.metadata


def _nothing(_: object) -> None:
    """Returns what is answered where there is nothing to tell."""


_BRANCHES = "/repositories/{repository}/branches"
_BRANCH = _BRANCHES + "/{branch}"

OPERATIONS = (
    Operation(
        id="listBranches",
        tag="branches",
        method="GET",
        path=_BRANCHES,
        summary="list branches",
        permission=(Need(Action.LIST_BRANCHES, on_repository),),
        params=ListBranches,
        response=RefList,
        handler=list_branches,
    ),
    Operation(
        id="createBranch",
        tag="branches",
        method="POST",
        path=_BRANCHES,
        summary="create branch",
        permission=(Need(Action.CREATE_BRANCH, on_new_branch),),
        params=InRepository,
        body=BranchCreation,
        status=201,
        response=Annotated[str, Meta(description="the id of the branch's commit")],
        media_type="text/plain",
        keyed=True,
        handler=create_branch,
    ),
    Operation(
        id="getBranch",
        tag="branches",
        method="GET",
        path=_BRANCH,
        summary="get branch",
        permission=(Need(Action.READ_BRANCH, on_branch),),
        params=AtBranch,
        response=Ref,
        quick=True,
        handler=get_branch,
    ),
    Operation(
        id="deleteBranch",
        tag="branches",
        method="DELETE",
        path=_BRANCH,
        summary="delete branch",
        permission=(Need(Action.DELETE_BRANCH, on_branch),),
        params=ChangeBranch,
        status=204,
        keyed=True,
        handler=delete_branch,
    ),
    Operation(
        id="resetBranch",
        tag="branches",
        method="PUT",
        path=_BRANCH,
        summary="reset branch",
        permission=(Need(Action.REVERT_BRANCH, on_branch),),
        params=AtBranch,
        body=ResetCreation,
        status=204,
        handler=reset_branch,
    ),
    Operation(
        id="hardResetBranch",
        tag="experimental",
        method="PUT",
        path=_BRANCH + "/hard_reset",
        summary="move a branch to another commit",
        permission=(Need(Action.REVERT_BRANCH, on_branch),),
        params=HardResetBranch,
        status=204,
        keyed=True,
        handler=hard_reset_branch,
    ),
    Operation(
        id="diffBranch",
        tag="branches",
        method="GET",
        path=_BRANCH + "/diff",
        summary="diff branch",
        permission=(Need(Action.LIST_OBJECTS, on_repository),),
        params=DiffBranch,
        response=DiffList,
        handler=diff_branch,
    ),
    Operation(
        id="revertBranch",
        tag="branches",
        method="POST",
        path=_BRANCH + "/revert",
        summary="revert",
        permission=(Need(Action.REVERT_BRANCH, on_branch),),
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
        permission=(Need(Action.CREATE_COMMIT, on_branch),),
        params=AtBranch,
        body=CherryPickCreation,
        status=201,
        response=Commit,
        keyed=True,
        handler=cherry_pick,
    ),
)
