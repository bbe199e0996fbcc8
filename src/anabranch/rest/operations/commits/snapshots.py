"""What clients need to read the tables of a commit themselves."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action, Permission
from anabranch.rest.operations.commits.commits import Commit, to_commit
from anabranch.rest.operations.commits.metadata import TABLE_READS
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtRef
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]


class Tables(msgspec.Struct, frozen=True):
    """Where the addresses of a commit's tables lead."""

    storage_namespace: Annotated[str, Meta(description="what relative addresses are relative to")]
    local_root: Annotated[
        str, Meta(description="what `local://` stands for in full addresses, empty for itself")
    ]


class Snapshot(msgspec.Struct, frozen=True):
    """The commit of a reference."""

    commit: Commit
    tables: Annotated[
        Tables | None, Meta(description="null unless the user may read the commit's tables")
    ]
    presigned: Annotated[
        bool, Meta(description="whether the store's bytes are read by presigned addresses, too")
    ]


def get_snapshot(call: Call[AtRef, None]) -> Snapshot:
    """Returns the commit of a reference, and where its tables lead for those who may read them."""
    catalog, repository = call.services.catalog, call.params.repository
    commit = catalog.commits.get(repository, call.params.ref)
    tables = None
    # tables are named by their ids alone, whatever reference has them
    reaches_all = call.authenticated.reaches(repository, "")
    if reaches_all and all(_may(call, need) for need in TABLE_READS):
        addresses = catalog.tables.addresses(repository)
        tables = Tables(addresses.namespace, addresses.local_root)
    # an address outlives a workspace, so that its keys get none
    presigned = reaches_all and catalog.presigning.supported
    return Snapshot(to_commit(commit), tables, presigned)


def _may(call: Call[AtRef, None], need: Need) -> bool:
    resource = need.resource(call)
    names = [resource] if isinstance(resource, str) else resource
    return all(call.authenticated.may(Permission(need.action, name)) for name in names)


OPERATIONS = (
    Operation(
        id="getSnapshot",
        tag="metadata",
        method="GET",
        path="/repositories/{repository}/refs/{ref}/snapshot",
        summary="get the commit of a reference, and where its tables lead for those who may read "
        "all objects",
        permission=(
            Need(Action.READ_COMMIT, on_repository),
            Need(Action.LIST_OBJECTS, on_repository),
        ),
        params=AtRef,
        response=Snapshot,
        handler=get_snapshot,
    ),
)
