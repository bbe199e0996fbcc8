"""The operation log of a repository: list and get the changes of its references and settings."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, InRepository
from anabranch.rest.protocol.resources import on_repository
from anabranch.rest.schemas.operation_records import OperationRecord, to_operation_record
from anabranch.rest.schemas.pagination import Pagination, page_amount, to_pagination

__all__ = ["OPERATIONS", "AtOperation", "OperationList"]


class ListOperations(InRepository, frozen=True, kw_only=True):
    """Parameters of listOperations."""

    after: Annotated[str, Meta(description="the id before whose operation the page begins")] = ""
    amount: Amount = DEFAULT_AMOUNT


class AtOperation(InRepository, frozen=True, kw_only=True):
    """Parameters of getOperation."""

    operation: Annotated[str, Meta(description="the id of an operation, or its beginning")]


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
