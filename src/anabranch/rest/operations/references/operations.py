"""The operation log of a repository: list and get the changes of its references and settings."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.model.references.operation import (
    BranchChanged,
    LoggedOperation,
    ReferenceChanged,
)
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, InRepository
from anabranch.rest.protocol.resources import on_repository
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination
from anabranch.rest.schemas.setting_changes import SettingChange, to_setting_change

__all__ = ["OPERATIONS", "AtOperation", "OperationList", "OperationRecord", "to_operation_record"]


class ListOperations(InRepository, frozen=True, kw_only=True):
    """Parameters of listOperations."""

    after: Annotated[str, Meta(description="the id before whose operation the page begins")] = ""
    amount: Amount = DEFAULT_AMOUNT


class AtOperation(InRepository, frozen=True, kw_only=True):
    """Parameters of getOperation."""

    operation: Annotated[str, Meta(description="the id of an operation, or its beginning")]


class ReferenceChange(msgspec.Struct, frozen=True):
    """A branch or a tag that an operation has changed: its commits before and after, empty where it
    did not exist. If both are the same, the operation has discarded the branch's staged changes, or
    has shown or hidden it.
    """

    type: Literal["branch", "tag"]
    name: str
    before: str
    after: str


class OperationRecord(msgspec.Struct, frozen=True):
    """An operation: its time in seconds since 1970, the user who made it, the request and the
    operation of the API, which are empty for programs that have opened the stores themselves, the
    workspace whose keys were used, empty for the user's own, and what it changed: branches and
    tags, and settings. `undone_at` is when it was undone, and
    `given_up_at` when it could no longer be undone, in seconds since 1970; 0 if never.
    """

    id: str
    time: float
    user: str
    request_id: str
    action: str
    workspace: str
    changes: list[ReferenceChange]
    settings: list[SettingChange]
    undone_at: float
    given_up_at: float


class OperationList(msgspec.Struct, frozen=True):
    """A page of operations, the newest first."""

    pagination: Pagination
    results: list[OperationRecord]


def list_operations(call: Call[ListOperations, None]) -> OperationList:
    """Returns a page of the operations on references that the user may read."""
    params = call.params
    page = call.services.catalog.operations.list(
        params.repository,
        after=params.after,
        amount=page_amount(params.amount),
        actor=call.actor,
    )
    return OperationList(to_pagination(page), [to_operation_record(each) for each in page.items])


def get_operation(call: Call[AtOperation, None]) -> OperationRecord:
    """Returns an operation, with those of its references that the user may read."""
    params = call.params
    operations = call.services.catalog.operations
    return to_operation_record(operations.get(params.repository, params.operation, call.actor))


def to_operation_record(
    operation: LoggedOperation, kind: str = "", name: str = ""
) -> OperationRecord:
    """Returns an operation as the API shows it: with all of its changes, or with those of one
    branch or tag.
    """
    changes = map(_to_change, operation.changes)
    return OperationRecord(
        id=operation.id,
        time=operation.time,
        user=operation.user,
        request_id=operation.request_id,
        action=operation.action,
        workspace=operation.workspace,
        changes=[each for each in changes if not kind or (each.type, each.name) == (kind, name)],
        settings=[] if kind else list(map(to_setting_change, operation.settings)),
        undone_at=operation.undone_at,
        given_up_at=operation.given_up_at,
    )


def _to_change(change: ReferenceChanged) -> ReferenceChange:
    return ReferenceChange(
        type="branch" if isinstance(change, BranchChanged) else "tag",
        name=change.name,
        before="" if change.before is None else change.before.commit_id,
        after="" if change.after is None else change.after.commit_id,
    )


_OPERATIONS = "/repositories/{repository}/operations"

OPERATIONS = (
    Operation(
        id="listOperations",
        tag="operations",
        method="GET",
        path=_OPERATIONS,
        summary="list the operations that have changed branches, tags and settings, the newest "
        "first",
        permission=(Need(Action.READ_REPOSITORY, on_repository),),
        params=ListOperations,
        response=OperationList,
        handler=list_operations,
    ),
    Operation(
        id="getOperation",
        tag="operations",
        method="GET",
        path=_OPERATIONS + "/{operation}",
        summary="get an operation that has changed branches, tags or settings",
        permission=(Need(Action.READ_REPOSITORY, on_repository),),
        params=AtOperation,
        response=OperationRecord,
        handler=get_operation,
    ),
)
