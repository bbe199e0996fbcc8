"""The operation log of the installation: repositories that were created and deleted, and changes of
policies, groups and attachments; and their undo.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.catalog.repositories.installation_log import InstallationOperations
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.rest.operations.references.operations import OperationList
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount
from anabranch.rest.protocol.resources import on_anything
from anabranch.rest.schemas.operation_records import OperationRecord, to_operation_record
from anabranch.rest.schemas.pagination import page_amount, to_pagination

__all__ = ["OPERATIONS"]


class ListInstallationOperations(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of listInstallationOperations."""

    after: Annotated[str, Meta(description="the id before whose operation the page begins")] = ""
    amount: Amount = DEFAULT_AMOUNT


class AtInstallationOperation(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of getInstallationOperation."""

    operation: Annotated[str, Meta(description="the id of an operation, or its beginning")]


def list_operations(call: Call[ListInstallationOperations, None]) -> OperationList:
    """Returns a page of operations."""
    params = call.params
    page = _operations(call).list(
        call.authenticated, after=params.after, amount=page_amount(params.amount)
    )
    return OperationList(to_pagination(page), [to_operation_record(each) for each in page.items])


def get_operation(call: Call[AtInstallationOperation, None]) -> OperationRecord:
    """Returns an operation."""
    return to_operation_record(_operations(call).get(call.params.operation, call.authenticated))


def undo_operation(call: Call[AtInstallationOperation, None]) -> OperationRecord:
    """Undoes an operation and returns it."""
    return to_operation_record(_operations(call).undo(call.params.operation, call.authenticated))


def _operations(call: Call[Any, Any]) -> InstallationOperations:
    catalog = call.services.catalog
    return InstallationOperations(catalog.core, catalog.repositories, call.services.access)


_OPERATIONS = "/installation/operations"
_READ = (Need(Action.READ_AUDIT, on_anything),)

OPERATIONS = (
    Operation(
        id="listInstallationOperations",
        tag="operations",
        method="GET",
        path=_OPERATIONS,
        summary="list the operations that have created or deleted repositories, or changed "
        "policies, groups and attachments, the newest first",
        permission=_READ,
        params=ListInstallationOperations,
        response=OperationList,
        handler=list_operations,
    ),
    Operation(
        id="getInstallationOperation",
        tag="operations",
        method="GET",
        path=_OPERATIONS + "/{operation}",
        summary="get an operation of the installation",
        permission=_READ,
        params=AtInstallationOperation,
        response=OperationRecord,
        handler=get_operation,
    ),
    Operation(
        id="undoInstallationOperation",
        tag="operations",
        method="POST",
        path=_OPERATIONS + "/{operation}/undo",
        summary="undo an operation of the installation; each change needs the permission that it "
        "needs by itself, too",
        permission=_READ,
        params=AtInstallationOperation,
        response=OperationRecord,
        handler=undo_operation,
    ),
)
