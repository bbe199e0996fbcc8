"""References: log, diff, merge, merge base."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.permissions import Action
from anabranch.model.commit import Commit as ModelCommit
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.operations.commits import Commit, to_commit
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.errors import MergeConflictResult
from anabranch.rest.protocol.operation import Need, Operation, OtherResponse
from anabranch.rest.protocol.parameters import Amount, AtRef, InRepository
from anabranch.rest.protocol.resources import (
    on_destination_branch,
    on_logged_paths,
    on_ref,
    on_repository,
)
from anabranch.rest.schemas.diffs import DiffList, diff_list
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = ["OPERATIONS", "Merge", "MergeRefs", "MergeResult", "merge_refs"]


class CommitList(msgspec.Struct, frozen=True):
    """A page of commits."""

    pagination: Pagination
    results: list[Commit]


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a merge; `strategy` is empty, dest-wins or source-wins."""

    message: str = ""
    metadata: dict[str, str] = {}
    strategy: str = ""
    force: bool = False
    allow_empty: bool = False
    squash_merge: bool = False


class MergeResult(msgspec.Struct, frozen=True):
    """A successful merge; `reference` is its commit."""

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
    limit: Annotated[bool, Meta(description="do not check whether more commits follow")] = False
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
    params = call.params
    page = call.services.catalog.commits.log(
        params.repository,
        params.ref,
        after=params.after,
        amount=page_amount(params.amount),
        limit=params.limit,
        first_parent=params.first_parent,
        since=None if params.since is UNSET else params.since,
        stop_at=params.stop_at,
        objects=params.objects,
        prefixes=params.prefixes,
    )
    return CommitList(
        pagination=to_pagination(page), results=[to_commit(commit) for commit in page.items]
    )


def diff_refs(call: Call[DiffRefs, None]) -> DiffList:
    """Returns a page of the differences between two references."""
    params = call.params
    page = call.services.catalog.refs.diff(
        params.repository,
        params.left_ref,
        params.right_ref,
        two_dot=params.type == "two_dot",
        prefix=params.prefix,
        after=params.after,
        delimiter=params.delimiter,
        amount=page_amount(params.amount),
        readable=call.readable_paths("", params.prefix),
    )
    return diff_list(page, include_right_stats=params.include_right_stats)


def merge_into_branch(call: Call[MergeRefs, Merge]) -> MergeResult:
    """Merges a reference into a branch."""
    return MergeResult(merge_refs(call, call.recording(lambda commit: MergeResult(commit.id))))


def merge_refs(
    call: Call[MergeRefs, Merge], extra_writes: ExtraWritesFor[ModelCommit] | None
) -> str:
    """Merges a reference into a branch; returns the id of the commit. `extra_writes` adds writes to
    those of the commit.
    """
    body = call.body
    return call.services.catalog.refs.merge(
        call.params.repository,
        call.params.source_ref,
        call.params.destination_branch,
        committer=call.committer,
        message=body.message,
        metadata=body.metadata,
        strategy=body.strategy,
        squash=body.squash_merge,
        allow_empty=body.allow_empty,
        force=body.force,
        extra_writes=extra_writes,
    )


def find_merge_base(call: Call[MergeRefs, None]) -> FindMergeBaseResult:
    """Returns the commits that a merge would use."""
    params = call.params
    source, destination, base = call.services.catalog.refs.merge_base(
        params.repository, params.source_ref, params.destination_branch
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
        permission=(
            Need(Action.READ_BRANCH, on_ref),
            Need(Action.READ_OBJECT, on_logged_paths),
        ),
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
        others=(OtherResponse(status=409, description="Conflict", type=MergeConflictResult),),
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
