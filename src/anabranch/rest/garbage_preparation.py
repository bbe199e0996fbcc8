"""Preparing garbage collections by others: lists of what lives, for lakeFS's own Spark client."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.permissions import Action
from anabranch.model.preparation import Preparation
from anabranch.rest.call import Call
from anabranch.rest.errors import Error
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import InRepository
from anabranch.rest.presigning import presigned_read
from anabranch.rest.resources import on_repository

__all__ = ["OPERATIONS"]


class GarbageCollectionPrepareResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Where the commits were written to; the URL is for who cannot read the store."""

    run_id: str
    gc_commits_location: str
    gc_addresses_location: str
    gc_commits_presigned_url: str | UnsetType = UNSET


class TaskCreation(msgspec.Struct, frozen=True):
    """A task that has begun."""

    id: str


class PrepareGarbageCollectionCommitsStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How a task goes; one that is completed has a result or an error."""

    task_id: str
    completed: bool
    update_time: str
    result: GarbageCollectionPrepareResponse | UnsetType = UNSET
    error: Error | UnsetType = UNSET


class PrepareGCUncommittedRequest(msgspec.Struct, frozen=True):
    """Where to continue."""

    continuation_token: str = ""


class PrepareGCUncommittedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """Where a page of staged addresses was written to, empty if there were none; and where the
    next begins.
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
            description="also commits that have expired, and not to fail without rules; "
            "lakeFS does not have this"
        ),
    ] = False


def prepare_commits(call: Call[PrepareCommits, None]) -> GarbageCollectionPrepareResponse:
    """Writes the active commits down."""
    asked = call.params
    prepared = call.services.catalog.garbage_preparation.commits(
        asked.repository, every=asked.every
    )
    return _shown(call, prepared)


def start_preparing(call: Call[InRepository, None]) -> TaskCreation:
    """Begins to write the active commits down."""
    return TaskCreation(call.services.catalog.garbage_tasks.start(call.params.repository))


def status_of_preparing(call: Call[TaskStatus, None]) -> PrepareGarbageCollectionCommitsStatus:
    """Returns how a task goes. Raises NotFound."""
    asked = call.params
    task = call.services.catalog.garbage_tasks.status(asked.repository, asked.task_id)
    return PrepareGarbageCollectionCommitsStatus(
        task_id=task.id,
        completed=task.done,
        update_time=datetime.fromtimestamp(task.updated_at, UTC).isoformat().replace("+00:00", "Z"),
        result=UNSET if task.result is None else _shown(call, task.result),
        error=Error(task.error) if task.error else UNSET,
    )


def prepare_uncommitted(
    call: Call[InRepository, PrepareGCUncommittedRequest],
) -> PrepareGCUncommittedResponse:
    """Writes a page of staged addresses down."""
    page = call.services.catalog.garbage_preparation.uncommitted(
        call.params.repository, call.body.continuation_token
    )
    return PrepareGCUncommittedResponse(
        run_id=page.run_id,
        gc_uncommitted_location=page.location,
        continuation_token=page.continuation_token or UNSET,
    )


def _shown(
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
_MAY_COMMITS = (Need(Action.PREPARE_GARBAGE_COLLECTION_COMMITS, on_repository),)

OPERATIONS = (
    Operation(
        id="prepareGarbageCollectionCommits",
        tag="internal",
        method="POST",
        path=_COMMITS,
        summary="save lists of active commits for garbage collection",
        permission=_MAY_COMMITS,
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
        permission=_MAY_COMMITS,
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
        permission=_MAY_COMMITS,
        params=TaskStatus,
        response=PrepareGarbageCollectionCommitsStatus,
        handler=status_of_preparing,
    ),
    Operation(
        id="prepareGarbageCollectionUncommitted",
        tag="internal",
        method="POST",
        path="/repositories/{repository}/gc/prepare_uncommited",
        summary="save repository uncommitted metadata for garbage collection",
        permission=(Need(Action.PREPARE_GARBAGE_COLLECTION_UNCOMMITTED, on_repository),),
        params=InRepository,
        body=PrepareGCUncommittedRequest,
        body_optional=True,
        status=201,
        response=PrepareGCUncommittedResponse,
        handler=prepare_uncommitted,
    ),
)
