"""Imports: start one, ask how far it is, cancel it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.permissions import Action
from anabranch.model.imports import ImportSource
from anabranch.model.imports import ImportStatus as ModelImportStatus
from anabranch.pipelines.imports.landing import ImportRequest
from anabranch.rest.call import Call
from anabranch.rest.commits import Commit, CommitCreation, commit_of
from anabranch.rest.errors import Error
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import AtBranch
from anabranch.rest.resources import on_branch, on_import_sources

__all__ = ["OPERATIONS"]


class ImportLocation(msgspec.Struct, frozen=True, kw_only=True):
    """What to import, and where to: an object's path, or the prefix of many."""

    type: Literal["common_prefix", "object"]
    path: str
    destination: str


class ImportCreation(msgspec.Struct, frozen=True, kw_only=True):
    """What to import, and what to commit it with."""

    paths: list[ImportLocation]
    commit: CommitCreation
    force: bool = False


class ImportCreationResponse(msgspec.Struct, frozen=True):
    """The name of an import that goes on."""

    id: str


class ImportStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far an import is; it has ended when it is completed, or there is an error."""

    completed: bool
    update_time: datetime
    ingested_objects: int
    metarange_id: str | UnsetType = UNSET
    commit: Commit | UnsetType = UNSET
    error: Error | UnsetType = UNSET


class AtImport(AtBranch, frozen=True, kw_only=True):
    """Parameters of what is about one import."""

    id: Annotated[str, Meta(min_length=1, description="the import's name")]


def start(call: Call[AtBranch, ImportCreation]) -> ImportCreationResponse:
    """Starts an import."""
    asked = call.body
    request = ImportRequest(
        branch=call.params.branch,
        sources=[
            ImportSource(type=each.type, path=each.path, destination=each.destination)
            for each in asked.paths
        ],
        committer=call.committer,
        message=asked.commit.message,
        metadata=asked.commit.metadata,
        date=None if asked.commit.date is UNSET else asked.commit.date,
    )
    return ImportCreationResponse(
        call.services.imports.start(call.params.repository, request, force=asked.force)
    )


def status(call: Call[AtImport, None]) -> ImportStatus:
    """Returns how far an import is."""
    asked = call.params
    return _status_of(call.services.imports.status(asked.repository, asked.branch, asked.id))


def cancel(call: Call[AtImport, None]) -> None:
    """Cancels an import."""
    asked = call.params
    call.services.imports.cancel(asked.repository, asked.branch, asked.id)


def _status_of(status: ModelImportStatus) -> ImportStatus:
    return ImportStatus(
        completed=status.completed,
        update_time=datetime.fromtimestamp(status.updated_at, UTC),
        ingested_objects=status.progress,
        metarange_id=status.metarange_id or UNSET,
        commit=UNSET if status.commit is None else commit_of(status.commit),
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
