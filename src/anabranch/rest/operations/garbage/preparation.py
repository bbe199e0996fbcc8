"""Preparing garbage collections by others: lists of what lives, for lakeFS's own Spark client."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, AllBelow, Permission, repository_arn
from anabranch.model.repositories.preparation import Preparation
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.errors import Error
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.presigning import presigned_read
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]


class GarbageCollectionPrepareResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses of the written lists; the URL is for clients that cannot read the store."""

    run_id: str
    gc_commits_location: str
    gc_addresses_location: str
    gc_commits_presigned_url: str | UnsetType = UNSET


class TaskCreation(msgspec.Struct, frozen=True):
    """A started task."""

    id: str


class PrepareGarbageCollectionCommitsStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a task; a completed one has a result or an error."""

    task_id: str
    completed: bool
    update_time: str
    result: GarbageCollectionPrepareResponse | UnsetType = UNSET
    error: Error | UnsetType = UNSET


class PrepareGCUncommittedRequest(Body, frozen=True):
    """The page to continue from."""

    continuation_token: str = ""


class PrepareGCUncommittedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Address of a page of staged addresses, empty if there were none, and the token of the next
    page.
    """

    run_id: str
    gc_uncommitted_location: str
    continuation_token: str | UnsetType = UNSET


class TaskStatus(InRepository, frozen=True, kw_only=True):
    """Parameters of prepareGarbageCollectionCommitsStatus."""

    task_id: str = field(name="id")


class PrepareCommits(InRepository, frozen=True, kw_only=True):
    """Parameters of prepareGarbageCollectionCommits."""

    every: Annotated[
        bool,
        Meta(
            description="include expired commits, and do not fail without rules; "
            "lakeFS does not have this"
        ),
    ] = False


class PrepareUncommitted(InRepository, frozen=True, kw_only=True):
    """Parameters of prepareGarbageCollectionUncommitted."""

    paths: Annotated[
        bool,
        Meta(
            description="include the repository, branch and path of each staged object; needs "
            "the permission for all repositories; lakeFS does not have this"
        ),
    ] = False


def prepare_commits(call: Call[PrepareCommits, None]) -> GarbageCollectionPrepareResponse:
    """Writes the list of active commits."""
    params = call.params
    prepared = call.services.catalog.garbage_preparation.commits(
        params.repository, include_expired=params.every
    )
    return _to_response(call, prepared)


def start_preparing(call: Call[InRepository, None]) -> TaskCreation:
    """Starts to write the list of active commits."""
    return TaskCreation(call.services.catalog.garbage_tasks.start(call.params.repository))


def preparation_status(call: Call[TaskStatus, None]) -> PrepareGarbageCollectionCommitsStatus:
    """Returns the status of a task. Raises NotFound."""
    params = call.params
    task = call.services.catalog.garbage_tasks.status(params.repository, params.task_id)
    return PrepareGarbageCollectionCommitsStatus(
        task_id=task.id,
        completed=task.done,
        update_time=datetime.fromtimestamp(task.updated_at, UTC).isoformat().replace("+00:00", "Z"),
        result=UNSET if task.result is None else _to_response(call, task.result),
        error=Error(task.error) if task.error else UNSET,
    )


def prepare_uncommitted(
    call: Call[PrepareUncommitted, PrepareGCUncommittedRequest],
) -> PrepareGCUncommittedResponse:
    """Writes a page of staged addresses."""
    params = call.params
    if params.paths:
        # staged changes of other repositories are among them
        everywhere = AllBelow(repository_arn(""))
        authorize(
            call.actor, [Permission(Action.PREPARE_GARBAGE_COLLECTION_UNCOMMITTED, everywhere)]
        )
    page = call.services.catalog.garbage_preparation.uncommitted(
        params.repository, call.body.continuation_token, paths=params.paths
    )
    return PrepareGCUncommittedResponse(
        run_id=page.run_id,
        gc_uncommitted_location=page.location,
        continuation_token=page.continuation_token or UNSET,
    )


def _to_response(
    call: Call[PrepareCommits, None] | Call[TaskStatus, None], prepared: Preparation
) -> GarbageCollectionPrepareResponse:
    return GarbageCollectionPrepareResponse(
        run_id=prepared.run_id,
        gc_commits_location=prepared.commits,
        gc_addresses_location=prepared.addresses,
        gc_commits_presigned_url=(
            presigned_read(call, prepared.commits).url
            if call.services.catalog.presigning.supported
            else UNSET
        ),
    )


_COMMITS = "/repositories/{repository}/gc/prepare_commits"
_PERMISSION = (Need(Action.PREPARE_GARBAGE_COLLECTION_COMMITS, on_repository),)

OPERATIONS = (
    Operation(
        id="prepareGarbageCollectionCommits",
        tag="internal",
        method="POST",
        path=_COMMITS,
        summary="save lists of active commits for garbage collection",
        permission=_PERMISSION,
        params=PrepareCommits,
        status=201,
        response=GarbageCollectionPrepareResponse,
        handler=prepare_commits,
    ),
    Operation(
        id="prepareGarbageCollectionCommitsAsync",
        tag="internal",
        method="POST",
        path=_COMMITS + "/async",
        summary="prepare gc commits",
        permission=_PERMISSION,
        params=InRepository,
        status=202,
        response=TaskCreation,
        handler=start_preparing,
    ),
    Operation(
        id="prepareGarbageCollectionCommitsStatus",
        tag="internal",
        method="GET",
        path=_COMMITS + "/status",
        summary="get status of prepare gc commits operation",
        permission=_PERMISSION,
        params=TaskStatus,
        response=PrepareGarbageCollectionCommitsStatus,
        handler=preparation_status,
    ),
    Operation(
        id="prepareGarbageCollectionUncommitted",
        tag="internal",
        method="POST",
        path="/repositories/{repository}/gc/prepare_uncommited",
        summary="save repository uncommitted metadata for garbage collection",
        permission=(Need(Action.PREPARE_GARBAGE_COLLECTION_UNCOMMITTED, on_repository),),
        params=PrepareUncommitted,
        body=PrepareGCUncommittedRequest,
        body_optional=True,
        status=201,
        response=PrepareGCUncommittedResponse,
        handler=prepare_uncommitted,
    ),
)
