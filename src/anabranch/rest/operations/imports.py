"""Imports: start, status, cancel."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.policies.permissions import Action
from anabranch.model.imports import ImportSource
from anabranch.model.tasks.job import JobStatus
from anabranch.pipelines.imports.commit_import import ImportRequest
from anabranch.rest.operations.commits.commits import Commit, CommitCreation, to_commit
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.errors import Error
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtBranch
from anabranch.rest.protocol.resources import on_branch, on_import_sources

__all__ = ["OPERATIONS"]


class ImportLocation(Body, frozen=True, kw_only=True):
    """A source and its destination: an object's path, or a prefix."""

    type: Literal["common_prefix", "object"]
    path: str
    destination: str


class ImportCreation(Body, frozen=True, kw_only=True):
    """Sources of an import, and message and metadata of its commit."""

    paths: list[ImportLocation]
    commit: CommitCreation
    force: bool = False


class ImportCreationResponse(msgspec.Struct, frozen=True):
    """The id of a running import."""

    id: str


class ImportStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of an import; it has ended if it is completed or has an error."""

    completed: bool
    update_time: datetime
    ingested_objects: int
    metarange_id: str | UnsetType = UNSET
    commit: Commit | UnsetType = UNSET
    error: Error | UnsetType = UNSET


class AtImport(AtBranch, frozen=True, kw_only=True):
    """Parameters of operations on an import."""

    id: Annotated[str, Meta(min_length=1, description="id of the import")]


def start(call: Call[AtBranch, ImportCreation]) -> ImportCreationResponse:
    """Starts an import."""
    body = call.body
    request = ImportRequest(
        branch=call.params.branch,
        sources=[
            ImportSource(type=each.type, path=each.path, destination=each.destination)
            for each in body.paths
        ],
        committer=call.committer,
        message=body.commit.message,
        metadata=body.commit.metadata,
        date=None if body.commit.date is UNSET else body.commit.date,
    )
    return ImportCreationResponse(
        call.services.imports.start(call.params.repository, request, force=body.force)
    )


def status(call: Call[AtImport, None]) -> ImportStatus:
    """Returns the status of an import."""
    params = call.params
    return _to_status(call.services.imports.status(params.repository, params.branch, params.id))


def cancel(call: Call[AtImport, None]) -> None:
    """Cancels an import."""
    params = call.params
    call.services.imports.cancel(params.repository, params.branch, params.id)


def _to_status(status: JobStatus) -> ImportStatus:
    return ImportStatus(
        completed=status.completed,
        update_time=datetime.fromtimestamp(status.updated_at, UTC),
        ingested_objects=status.progress,
        metarange_id=status.metarange_id or UNSET,
        commit=UNSET if status.commit is None else to_commit(status.commit),
        error=Error(f"import error: {status.error}") if status.error else UNSET,
    )


_IMPORT = "/repositories/{repository}/branches/{branch}/import"

OPERATIONS = (
    Operation(
        id="importStart",
        tag="import",
        method="POST",
        path=_IMPORT,
        summary="import data from object store",
        permission=(
            Need(Action.CREATE_COMMIT, on_branch),
            Need(Action.IMPORT_FROM_STORAGE, on_import_sources),
        ),
        params=AtBranch,
        body=ImportCreation,
        status=202,
        response=ImportCreationResponse,
        handler=start,
    ),
    Operation(
        id="importStatus",
        tag="import",
        method="GET",
        path=_IMPORT,
        summary="get import status",
        permission=(Need(Action.READ_BRANCH, on_branch),),
        params=AtImport,
        response=ImportStatus,
        handler=status,
    ),
    Operation(
        id="importCancel",
        tag="import",
        method="DELETE",
        path=_IMPORT,
        summary="cancel ongoing import",
        permission=(Need(Action.IMPORT_CANCEL, on_branch),),
        params=AtImport,
        status=204,
        handler=cancel,
    ),
)
