"""Undo: operations are undone, deleted branches and tags return, and how long that is possible."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.catalog.reviewer_names import KnownNames
from anabranch.model.references.operation import MAX_UNDO_DAYS, LoggedOperation
from anabranch.rest.operations.references.operations import AtOperation
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtBranch, InRepository
from anabranch.rest.protocol.resources import on_branch, on_repository, on_tag
from anabranch.rest.schemas.operation_records import OperationRecord, to_operation_record

__all__ = ["OPERATIONS"]


class UndoRequest(Body, frozen=True, kw_only=True):
    """What to undo: the operation with an id, or its beginning; by default the last one of the user
    that is not undone.
    """

    operation: str = ""
    force: bool = False


class RestoreReferences(AtOperation, frozen=True, kw_only=True):
    """Parameters of restoreReferences, which a read-only repository refuses unless forced."""

    force: bool = False


class RestoreBranch(AtBranch, frozen=True, kw_only=True):
    """Parameters of restoreBranch, which a read-only repository refuses unless forced."""

    force: bool = False


class RestoreTag(InRepository, frozen=True, kw_only=True):
    """Parameters of restoreTag, which a read-only repository refuses unless forced."""

    tag: str
    force: bool = False


class UndoSettings(Body, frozen=True, kw_only=True):
    """For how many days operations can be undone; null is the number of the installation."""

    undo_days: Annotated[int, Meta(ge=0, le=MAX_UNDO_DAYS)] | None = None


class UndoDays(msgspec.Struct, frozen=True):
    """For how many days operations can be undone, and garbage collection keeps what that needs."""

    undo_days: int


def undo_operation(call: Call[InRepository, UndoRequest]) -> OperationRecord:
    """Undoes an operation and returns it."""
    undone = call.services.catalog.operations.undo(
        call.params.repository,
        call.body.operation,
        force=call.body.force,
        actor=call.authenticated,
        names=KnownNames(call.services.access),
        extra_writes=call.recording(to_operation_record),
    )
    return to_operation_record(undone)


def restore_references(call: Call[RestoreReferences, None]) -> OperationRecord:
    """Changes all branches and tags back to what they were right after an operation."""
    params = call.params
    record = partial(_readable_record, call)
    restored = call.services.catalog.operations.restore(
        params.repository,
        params.operation,
        force=params.force,
        actor=call.authenticated,
        extra_writes=call.recording(record),
    )
    return record(restored)


def restore_branch(call: Call[RestoreBranch, None]) -> OperationRecord:
    """Brings a deleted branch back, and returns the operation that had deleted it."""
    params = call.params
    record = partial(to_operation_record, kind="branch", name=params.branch)
    deletion = call.services.catalog.operations.restore_branch(
        params.repository,
        params.branch,
        force=params.force,
        actor=call.authenticated,
        extra_writes=call.recording(record),
    )
    return record(deletion)


def restore_tag(call: Call[RestoreTag, None]) -> OperationRecord:
    """Brings a deleted tag back, and returns the operation that had deleted it."""
    params = call.params
    record = partial(to_operation_record, kind="tag", name=params.tag)
    deletion = call.services.catalog.operations.restore_tag(
        params.repository,
        params.tag,
        force=params.force,
        actor=call.authenticated,
        extra_writes=call.recording(record),
    )
    return record(deletion)


def give_up_operation(call: Call[AtOperation, None]) -> OperationRecord:
    """Gives up what only an operation needs to garbage collection."""
    params = call.params
    given_up = call.services.catalog.operations.give_up(params.repository, params.operation)
    return _readable_record(call, given_up)


def _readable_record(call: Call[Any, None], operation: LoggedOperation) -> OperationRecord:
    """Returns an operation with the changes that the user may read."""
    operations = call.services.catalog.operations
    readable = operations.readable(call.params.repository, operation, call.authenticated)
    return to_operation_record(readable)


def get_undo_days(call: Call[InRepository, None]) -> UndoDays:
    """Returns for how many days operations of a repository can be undone."""
    return UndoDays(call.services.catalog.operations.undo_days(call.params.repository))


def set_undo_days(call: Call[InRepository, UndoSettings]) -> UndoDays:
    """Sets for how many days operations of a repository can be undone."""
    operations = call.services.catalog.operations
    return UndoDays(operations.set_undo_days(call.params.repository, call.body.undo_days))


_REPOSITORY = "/repositories/{repository}"
_READ = Need(Action.READ_REPOSITORY, on_repository)
_UNDO_DAYS = _REPOSITORY + "/settings/undo_days"

OPERATIONS = (
    Operation(
        id="undoOperation",
        tag="operations",
        method="POST",
        path=_REPOSITORY + "/undo",
        summary="change branches, tags and settings back to what they were before an operation; "
        "each change needs the permission that it needs by itself",
        permission=(_READ,),
        params=InRepository,
        body=UndoRequest,
        response=OperationRecord,
        keyed=True,
        handler=undo_operation,
    ),
    Operation(
        id="restoreReferences",
        tag="operations",
        method="POST",
        path=_REPOSITORY + "/operations/{operation}/restore",
        summary="change all branches and tags back to what they were right after an operation; "
        "each change needs the permission that it needs by itself, too",
        permission=(_READ, Need(Action.UPDATE_REPOSITORY, on_repository)),
        params=RestoreReferences,
        response=OperationRecord,
        keyed=True,
        handler=restore_references,
    ),
    Operation(
        id="restoreBranch",
        tag="branches",
        method="POST",
        path=_REPOSITORY + "/branches/{branch}/restore",
        summary="bring a deleted branch back with what was staged on it",
        permission=(Need(Action.CREATE_BRANCH, on_branch), Need(Action.READ_BRANCH, on_branch)),
        params=RestoreBranch,
        response=OperationRecord,
        keyed=True,
        handler=restore_branch,
    ),
    Operation(
        id="restoreTag",
        tag="tags",
        method="POST",
        path=_REPOSITORY + "/tags/{tag}/restore",
        summary="bring a deleted tag back",
        permission=(Need(Action.CREATE_TAG, on_tag), Need(Action.READ_TAG, on_tag)),
        params=RestoreTag,
        response=OperationRecord,
        keyed=True,
        handler=restore_tag,
    ),
    Operation(
        id="giveUpOperation",
        tag="operations",
        method="POST",
        path=_REPOSITORY + "/operations/{operation}/give_up",
        summary="give up what only an operation needs to garbage collection: it can then no longer "
        "be undone",
        permission=(_READ, Need(Action.SET_GARBAGE_COLLECTION_RULES, on_repository)),
        params=AtOperation,
        response=OperationRecord,
        handler=give_up_operation,
    ),
    Operation(
        id="getUndoDays",
        tag="operations",
        method="GET",
        path=_UNDO_DAYS,
        summary="get for how many days operations can be undone",
        permission=(Need(Action.GET_GARBAGE_COLLECTION_RULES, on_repository),),
        params=InRepository,
        response=UndoDays,
        handler=get_undo_days,
    ),
    Operation(
        id="setUndoDays",
        tag="operations",
        method="PUT",
        path=_UNDO_DAYS,
        summary="set for how many days operations can be undone, and garbage collection keeps what "
        "that needs",
        permission=(Need(Action.SET_GARBAGE_COLLECTION_RULES, on_repository),),
        params=InRepository,
        body=UndoSettings,
        response=UndoDays,
        handler=set_undo_days,
    ),
)
