"""Pull requests: list, create, get, update, merge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.policies.permissions import Action
from anabranch.catalog.pulls.reviewers import WaitsFor
from anabranch.catalog.reviewer_names import KnownNames
from anabranch.http.execution import Execution
from anabranch.model import pull_request as model
from anabranch.model.page import Page
from anabranch.model.pull_request import (
    MAX_DESCRIPTION_CHARACTERS,
    MAX_REVIEWERS,
    MAX_TITLE_CHARACTERS,
    PullRequestStatus,
)
from anabranch.rest.operations.commits.merges import (
    MERGE_NEEDS,
    Merge,
    MergeResult,
    dry_run,
    to_merge_result,
)
from anabranch.rest.operations.pulls.reviewers import (
    PullRequestReviewer,
    ReviewerName,
    asked_reviewers,
    to_reviewers,
)
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation, OtherResponse
from anabranch.rest.protocol.parameters import AtPull, InRepository
from anabranch.rest.protocol.resources import (
    on_pull_destination,
    on_repository,
)
from anabranch.rest.protocol.responses import no_content
from anabranch.rest.schemas.merge_conflicts import MergeConflictResult, described_conflicts
from anabranch.rest.schemas.pagination import (
    PageOfRepository,
    Pagination,
    page_amount,
    to_pagination,
)

__all__ = ["OPERATIONS"]

_Title = Annotated[str, Meta(max_length=MAX_TITLE_CHARACTERS)]
_Description = Annotated[str, Meta(max_length=MAX_DESCRIPTION_CHARACTERS)]
_Status = Annotated[str, Meta(description="open, closed or merged")]

_STATUSES = {
    "open": frozenset({PullRequestStatus.OPEN}),
    "closed": frozenset({PullRequestStatus.CLOSED, PullRequestStatus.MERGED}),
    "all": frozenset(PullRequestStatus),
}
"""The statuses that a listing shows, as in lakeFS."""


class PullRequestCreation(Body, frozen=True, kw_only=True):
    """A pull request to create: the source branch is to be merged into the destination."""

    title: _Title
    description: _Description = ""
    source_branch: str
    destination_branch: str
    reviewers: Annotated[tuple[ReviewerName, ...], Meta(max_length=MAX_REVIEWERS)] = ()


class PullRequestCreationResponse(msgspec.Struct, frozen=True):
    """The id of a new pull request."""

    id: str


class PullRequestBasic(Body, frozen=True, kw_only=True):
    """Changes of a pull request; absent fields stay as they are."""

    status: _Status | UnsetType = UNSET
    title: _Title | UnsetType = UNSET
    description: _Description | UnsetType = UNSET


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request. `merged_commit_id` is the merge commit, of a merged one; `closed_date` is
    when it was closed or merged; `reviewers` are absent if none were asked.
    """

    status: PullRequestStatus
    title: str
    description: str
    id: str
    creation_date: datetime
    author: str
    source_branch: str
    destination_branch: str
    merged_commit_id: str | UnsetType = UNSET
    closed_date: datetime | UnsetType = UNSET
    reviewers: list[PullRequestReviewer] | UnsetType = UNSET


class PullRequestsList(msgspec.Struct, frozen=True):
    """A page of pull requests."""

    pagination: Pagination
    results: list[PullRequest]


class ListPulls(PageOfRepository, frozen=True, kw_only=True):
    """Parameters of listPullRequests."""

    status: Annotated[
        Literal["open", "closed", "all"], Meta(description="merged ones count as closed")
    ] = "all"
    waits_for_me: Annotated[
        bool, Meta(description="only those that ask the caller for a review, and wait for it")
    ] = False


def list_pulls(call: Call[ListPulls, None]) -> PullRequestsList:
    """Returns a page of pull requests, newest first."""
    params, names = call.params, KnownNames(call.services.access)
    page: Page[model.PullRequest] = call.services.catalog.pulls.list(
        params.repository,
        statuses=_STATUSES[params.status],
        waits_for=_caller(call) if params.waits_for_me else None,
        names=names,
        prefix=params.prefix,
        after=params.after,
        amount=page_amount(params.amount),
    )
    return PullRequestsList(pagination=to_pagination(page), results=_to_wire(call, page.items))


def create_pull(call: Call[InRepository, PullRequestCreation]) -> PullRequestCreationResponse:
    """Creates a pull request."""
    body = call.body
    pull = call.services.catalog.pulls.create(
        call.params.repository,
        title=body.title,
        description=body.description,
        source=body.source_branch,
        destination=body.destination_branch,
        author=call.committer,
        username=call.username,
        reviewers=to_reviewers(body.reviewers),
        names=KnownNames(call.services.access),
        extra_writes=call.recording(_to_creation_response),
    )
    return _to_creation_response(pull)


def get_pull(call: Call[AtPull, None]) -> PullRequest:
    """Returns a pull request."""
    params = call.params
    pull = call.services.catalog.pulls.get(params.repository, params.pull_request)
    return _to_wire(call, [pull])[0]


def update_pull(call: Call[AtPull, PullRequestBasic]) -> None:
    """Changes a pull request."""
    body = call.body
    call.services.catalog.pulls.update(
        call.params.repository,
        call.params.pull_request,
        title=None if body.title is UNSET else body.title,
        description=None if body.description is UNSET else body.description,
        status=None if body.status is UNSET else body.status,
        extra_writes=call.recording(no_content),
    )


def merge_pull(call: Call[AtPull, Merge]) -> MergeResult:
    """Merges a pull request, or responds with what that would do."""
    body = call.body
    pull = call.params.repository, call.params.pull_request
    if body.dry_run:
        preview = call.services.catalog.pulls.preview_merge(
            *pull, strategy=body.strategy, resolutions=body.resolutions, rights=call.object_rights
        )
        return dry_run(call, preview)
    with described_conflicts(call):
        commit_id = call.services.catalog.pulls.merge(
            *pull,
            committer=call.committer,
            message=body.message,
            metadata=body.metadata,
            strategy=body.strategy,
            resolutions=body.resolutions,
            rights=call.object_rights,
            squash=body.squash_merge,
            allow_empty=body.allow_empty,
            force=body.force,
            extra_writes=call.recording(to_merge_result),
        )
    return MergeResult(commit_id)


def _to_creation_response(pull: model.PullRequest) -> PullRequestCreationResponse:
    return PullRequestCreationResponse(pull.id)


def _caller(call: Call[Any, Any]) -> WaitsFor:
    groups = call.services.access.effective_policies.groups_of(call.username)
    return WaitsFor(call.username, frozenset(groups))


def _to_wire(call: Call[Any, Any], pulls: Sequence[model.PullRequest]) -> list[PullRequest]:
    asked = asked_reviewers(call, pulls)
    return [_with_reviewers(*pair) for pair in zip(pulls, asked, strict=True)]


def _with_reviewers(pull: model.PullRequest, reviewers: list[PullRequestReviewer]) -> PullRequest:
    return PullRequest(
        status=pull.status,
        title=pull.title,
        description=pull.description,
        id=pull.id,
        creation_date=pull.creation_date,
        author=pull.author.name,
        source_branch=pull.source,
        destination_branch=pull.destination,
        merged_commit_id=pull.merged_commit_id or UNSET,
        closed_date=pull.closed_date or UNSET,
        reviewers=reviewers or UNSET,
    )


_PULLS = "/repositories/{repository}/pulls"
_PULL = _PULLS + "/{pull_request}"
_WRITE = Need(Action.WRITE_PULL_REQUEST, on_repository)

OPERATIONS = (
    Operation(
        id="listPullRequests",
        tag="pulls",
        method="GET",
        path=_PULLS,
        summary="list pull requests",
        permission=(Need(Action.LIST_PULL_REQUESTS, on_repository),),
        params=ListPulls,
        response=PullRequestsList,
        handler=list_pulls,
    ),
    Operation(
        id="createPullRequest",
        tag="pulls",
        method="POST",
        path=_PULLS,
        summary="create pull request",
        permission=(_WRITE,),
        params=InRepository,
        body=PullRequestCreation,
        status=201,
        response=PullRequestCreationResponse,
        keyed=True,
        handler=create_pull,
    ),
    Operation(
        id="getPullRequest",
        tag="pulls",
        method="GET",
        path=_PULL,
        summary="get pull request",
        permission=(Need(Action.READ_PULL_REQUEST, on_repository),),
        params=AtPull,
        response=PullRequest,
        execution=Execution.INLINE,
        handler=get_pull,
    ),
    Operation(
        id="updatePullRequest",
        tag="pulls",
        method="PATCH",
        path=_PULL,
        summary="update pull request",
        permission=(_WRITE,),
        params=AtPull,
        body=PullRequestBasic,
        status=204,
        keyed=True,
        handler=update_pull,
    ),
    Operation(
        id="mergePullRequest",
        tag="pulls",
        method="PUT",
        path=_PULL + "/merge",
        summary="merge pull request",
        permission=(
            _WRITE,
            Need(Action.CREATE_COMMIT, on_pull_destination),
            *MERGE_NEEDS,
        ),
        params=AtPull,
        body=Merge,
        body_optional=True,
        response=MergeResult,
        others=(OtherResponse(status=409, description="Conflict", type=MergeConflictResult),),
        keyed=True,
        handler=merge_pull,
    ),
)
