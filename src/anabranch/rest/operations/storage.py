"""The report on a repository's storage."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from anabranch.access.permissions import Action
from anabranch.pipelines.storage.report import StorageReport
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]


class GetStorageReport(InRepository, frozen=True, kw_only=True):
    """Parameters of getStorageReport: `points` commits of a branch, by default the default branch,
    show its growth.
    """

    branch: str = ""
    points: Annotated[int, Meta(ge=2, le=500)] = 50


def get_storage_report(call: Call[GetStorageReport, None]) -> StorageReport:
    """Returns what a repository's branches take, share and have grown by."""
    params = call.params
    return call.services.storage.report(
        params.repository, branch=params.branch, points=params.points
    )


OPERATIONS = (
    Operation(
        id="getStorageReport",
        tag="repositories",
        method="GET",
        path="/repositories/{repository}/storage",
        summary="get the storage that branches take and share, and its growth",
        permission=(
            Need(Action.LIST_BRANCHES, on_repository),
            Need(Action.LIST_COMMITS, on_repository),
            Need(Action.LIST_OBJECTS, on_repository),
        ),
        params=GetStorageReport,
        response=StorageReport,
        handler=get_storage_report,
    ),
)
