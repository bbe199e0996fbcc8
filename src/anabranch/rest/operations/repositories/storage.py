"""The report on a repository's storage, and the search for what garbage collection would free."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from anabranch.access.policies.permissions import Action, Permission, branch_arn
from anabranch.model.references.branch import Branch
from anabranch.pipelines.storage.report import GarbageFound, StorageReport
from anabranch.pipelines.storage.unmerged import Order, UnmergedBranches
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


class ListUnmergedBranches(InRepository, frozen=True, kw_only=True):
    """Parameters of listUnmergedBranches."""

    sort: Annotated[
        Order, Meta(description="the oldest last commit first, or the most bytes first")
    ] = "age"
    amount: Annotated[int, Meta(ge=1, le=1000)] = 20
    show_hidden: bool = False


def list_unmerged_branches(call: Call[ListUnmergedBranches, None]) -> UnmergedBranches:
    """Returns the unmerged branches that the user may read."""
    params, actor = call.params, call.authenticated

    def is_shown(branch: Branch) -> bool:
        arn = branch_arn(params.repository, branch.id)
        is_listed = params.show_hidden or not branch.hidden
        return is_listed and actor.may(Permission(Action.READ_BRANCH, arn))

    return call.services.storage.unmerged(
        params.repository, order=params.sort, amount=params.amount, is_shown=is_shown
    )


def get_storage_report(call: Call[GetStorageReport, None]) -> StorageReport:
    """Returns what a repository's branches take, share and have grown by."""
    params = call.params
    return call.services.storage.report(
        params.repository, branch=params.branch, points=params.points
    )


def find_garbage(call: Call[InRepository, None]) -> GarbageFound:
    """Finds what garbage collection would remove; removes nothing."""
    return call.services.storage.find_garbage(call.params.repository)


_REPORTS = (
    Need(Action.LIST_BRANCHES, on_repository),
    Need(Action.LIST_COMMITS, on_repository),
    Need(Action.LIST_OBJECTS, on_repository),
)

OPERATIONS = (
    Operation(
        id="getStorageReport",
        tag="repositories",
        method="GET",
        path="/repositories/{repository}/storage",
        summary="get the storage that branches take and share, and its growth",
        permission=_REPORTS,
        params=GetStorageReport,
        response=StorageReport,
        handler=get_storage_report,
    ),
    Operation(
        id="listUnmergedBranches",
        tag="branches",
        method="GET",
        path="/repositories/{repository}/unmerged_branches",
        summary="list the oldest or the largest branches that are not merged",
        permission=_REPORTS,
        params=ListUnmergedBranches,
        response=UnmergedBranches,
        handler=list_unmerged_branches,
    ),
    Operation(
        id="findGarbage",
        tag="repositories",
        method="POST",
        path="/repositories/{repository}/storage/garbage",
        summary="find what garbage collection would remove, and remove nothing",
        permission=(Need(Action.PREPARE_GARBAGE_COLLECTION_COMMITS, on_repository),),
        params=InRepository,
        response=GarbageFound,
        handler=find_garbage,
    ),
)
