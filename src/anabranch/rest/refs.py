"""References: log, diff, merge, merge base."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.permissions import Action
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.call import Call
from anabranch.rest.commits import Commit, commit_of
from anabranch.rest.diffs import DiffList, diff_list
from anabranch.rest.errors import MergeConflictResult
from anabranch.rest.operation import Need, Operation, Response
from anabranch.rest.pagination import Pagination, amount_of, pagination_of
from anabranch.rest.parameters import Amount, AtRef, InRepository
from anabranch.rest.resources import on_destination_branch, on_ref, on_repository

__all__ = ["OPERATIONS", "MergeResult"]


class CommitList(msgspec.Struct, frozen=True):
    """A page of commits."""

    pagination: Pagination
    results: list[Commit]


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """How to merge; `strategy` is empty, dest-wins or source-wins."""

    message: str = ""
    metadata: dict[str, str] = {}
    strategy: str = ""
    force: bool = False
    allow_empty: bool = False
    squash_merge: bool = False


class MergeResult(msgspec.Struct, frozen=True):
    """A merge that was made; `reference` is its commit."""

    reference: str


class FindMergeBaseResult(msgspec.Struct, frozen=True):
    """The commits of a merge. As in lakeFS, the two sides' names are swapped."""

    base_commit_id: str
    destination_commit_id: str
    source_commit_id: str


class LogCommits(AtRef, frozen=True, kw_only=True):
    """Parameters of logCommits."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    objects: Annotated[
        tuple[str, ...], Meta(description="only commits that changed these paths")
    ] = ()
    prefixes: Annotated[
        tuple[str, ...], Meta(description="only commits that changed paths with these prefixes")
    ] = ()
    limit: Annotated[bool, Meta(description="do not look whether more follow")] = False
    first_parent: bool = False
    since: Annotated[datetime, Meta(tz=True, extra={"empty": "absent"})] | UnsetType = UNSET
    stop_at: Annotated[str, Meta(description="the last commit to show")] = ""


class DiffRefs(InRepository, frozen=True, kw_only=True):
    """Parameters of diffRefs."""

    left_ref: str = msgspec.field(name="leftRef")
    right_ref: str = msgspec.field(name="rightRef")
    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    prefix: str = ""
    delimiter: str = ""
    type: Literal["two_dot", "three_dot"] = "three_dot"
    include_right_stats: bool = False


class MergeRefs(InRepository, frozen=True, kw_only=True):
    """Parameters of mergeIntoBranch and findMergeBase."""

    source_ref: str = msgspec.field(name="sourceRef")
    destination_branch: str = msgspec.field(name="destinationBranch")


def log_commits(call: Call[LogCommits, None]) -> CommitList:
    """Returns a page of history."""
    asked = call.params
    page = call.services.catalog.commits.log(
        asked.repository,
        asked.ref,
        after=asked.after,
        amount=amount_of(asked.amount),
        limit=asked.limit,
        first_parent=asked.first_parent,
        since=None if asked.since is UNSET else asked.since,
        stop_at=asked.stop_at,
        objects=asked.objects,
        prefixes=asked.prefixes,
    )
    return CommitList(
        pagination=pagination_of(page), results=[commit_of(commit) for commit in page.items]
    )


def diff_refs(call: Call[DiffRefs, None]) -> DiffList:
    """Returns a page of the differences between two references."""
    asked = call.params
    page = call.services.catalog.refs.diff(
        asked.repository,
        asked.left_ref,
        asked.right_ref,
        two_dot=asked.type == "two_dot",
        prefix=asked.prefix,
        after=asked.after,
        delimiter=asked.delimiter,
        amount=amount_of(asked.amount),
    )
    return diff_list(page, include_right_stats=asked.include_right_stats)


def merge_into_branch(call: Call[MergeRefs, Merge]) -> MergeResult:
    """Merges a reference into a branch."""
    asked = call.body
    commit_id = call.services.catalog.refs.merge(
        call.params.repository,
        call.params.source_ref,
        call.params.destination_branch,
        committer=call.committer,
        message=asked.message,
        metadata=asked.metadata,
        strategy=asked.strategy,
        squash=asked.squash_merge,
        allow_empty=asked.allow_empty,
        force=asked.force,
        beside=call.recording(lambda commit: MergeResult(commit.id)),
    )
    return MergeResult(commit_id)


def find_merge_base(call: Call[MergeRefs, None]) -> FindMergeBaseResult:
    """Returns the commits that a merge would be made of."""
    asked = call.params
    source, destination, base = call.services.catalog.refs.merge_base(
        asked.repository, asked.source_ref, asked.destination_branch
    )
    return FindMergeBaseResult(
        base_commit_id=base, destination_commit_id=source, source_commit_id=destination
    )


_REFS = "/repositories/{repository}/refs"
_MERGE = _REFS + "/{sourceRef}/merge/{destinationBranch}"

OPERATIONS = (
    Operation(
        id="logCommits",
        tag="refs",
        method="GET",
        path=_REFS + "/{ref}/commits",
        summary="get commit log from ref",
        permission=(Need(Action.READ_BRANCH, on_ref),),
        params=LogCommits,
        response=CommitList,
        handler=log_commits,
    ),
    Operation(
        id="diffRefs",
        tag="refs",
        method="GET",
        path=_REFS + "/{leftRef}/diff/{rightRef}",
        summary="diff references",
        permission=(Need(Action.LIST_OBJECTS, on_repository),),
        params=DiffRefs,
        response=DiffList,
        handler=diff_refs,
    ),
    Operation(
        id="mergeIntoBranch",
        tag="refs",
        method="POST",
        path=_MERGE,
        summary="merge references",
        permission=(Need(Action.CREATE_COMMIT, on_destination_branch),),
        params=MergeRefs,
        body=Merge,
        body_optional=True,
        response=MergeResult,
        others=(Response(status=409, description="Conflict", type=MergeConflictResult),),
        keyed=True,
        handler=merge_into_branch,
    ),
    Operation(
        id="findMergeBase",
        tag="refs",
        method="GET",
        path=_MERGE,
        summary="find the merge base of two references",
        permission=(Need(Action.LIST_COMMITS, on_repository),),
        params=MergeRefs,
        response=FindMergeBaseResult,
        handler=find_merge_base,
    ),
)
