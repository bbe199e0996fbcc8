"""Transfers: move and copy objects or prefixes."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action, AllBelow, object_arn
from anabranch.model.names import is_prefix
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtBranch

__all__ = ["OPERATIONS"]

_Path = Annotated[str, Meta(description="an object, or a prefix if it is empty or ends in a slash")]


class ObjectsTransfer(Body, frozen=True, kw_only=True):
    """A move or copy to a branch; the source is by default in the branch itself. What is moved must
    be on a branch. Objects from another repository get bytes of their own.
    """

    source_path: _Path
    destination_path: _Path
    source_repository: str = ""
    source_ref: str = ""
    force: Annotated[bool, Meta(description="overwrite existing objects")] = False
    shallow: Annotated[
        bool,
        Meta(
            description="refer to the bytes of another repository instead of copying them: the "
            "objects are lost if its storage namespace is removed, and lakeFS cannot read them"
        ),
    ] = False


class TransferResult(msgspec.Struct, frozen=True):
    """The number of objects that were moved or copied."""

    count: int


def move_objects(call: Call[AtBranch, ObjectsTransfer]) -> TransferResult:
    """Moves an object or a prefix to a branch."""
    params, body = call.params, call.body
    return TransferResult(
        call.services.catalog.transfers.move(
            params.repository,
            params.branch,
            body.source_path,
            body.destination_path,
            source_branch=body.source_ref,
            source_repository=body.source_repository,
            force=body.force,
            shallow=body.shallow,
        )
    )


def copy_objects(call: Call[AtBranch, ObjectsTransfer]) -> TransferResult:
    """Copies an object or a prefix to a branch, from any repository of the server."""
    params, body = call.params, call.body
    return TransferResult(
        call.services.catalog.transfers.copy(
            params.repository,
            params.branch,
            body.source_path,
            body.destination_path,
            source_repository=body.source_repository,
            source_reference=body.source_ref,
            force=body.force,
            shallow=body.shallow,
        )
    )


def _source(call: Call[AtBranch, ObjectsTransfer]) -> str:
    return _arn(call.body.source_repository or call.params.repository, call.body.source_path)


def _source_branch(call: Call[AtBranch, ObjectsTransfer]) -> str:
    return call.body.source_ref or call.params.branch


def _destination(call: Call[AtBranch, ObjectsTransfer]) -> str:
    return _arn(call.params.repository, call.body.destination_path)


def _arn(repository: str, path: str) -> str:
    """Returns the resource of an object, or of all objects under a prefix, so that a denial of any
    of these is respected.
    """
    arn = object_arn(repository, path)
    return AllBelow(arn) if is_prefix(path) else arn


_OBJECTS = "/repositories/{repository}/branches/{branch}/objects"

OPERATIONS = (
    Operation(
        id="moveObjects",
        tag="objects",
        method="POST",
        path=_OBJECTS + "/moves",
        summary="move an object or a prefix to a branch",
        permission=(
            Need(Action.READ_OBJECT, _source),
            Need(Action.DELETE_OBJECT, _source, _source_branch),
            Need(Action.WRITE_OBJECT, _destination),
        ),
        params=AtBranch,
        body=ObjectsTransfer,
        response=TransferResult,
        handler=move_objects,
    ),
    Operation(
        id="copyObjects",
        tag="objects",
        method="POST",
        path=_OBJECTS + "/copies",
        summary="copy an object or a prefix to a branch",
        permission=(
            Need(Action.READ_OBJECT, _source),
            Need(Action.WRITE_OBJECT, _destination),
        ),
        params=AtBranch,
        body=ObjectsTransfer,
        response=TransferResult,
        handler=copy_objects,
    ),
)
