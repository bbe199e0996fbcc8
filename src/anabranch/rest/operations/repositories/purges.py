"""Purges: delete repositories with their data, list the data that deleted ones have left, remove
them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from anabranch.access.policies.permissions import Action, Permission, namespace_arn
from anabranch.model.repositories.purge import PurgeResult
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.errors import Error
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import (
    on_anything,
    on_named_namespace,
    on_namespace,
    on_namespace_of_repository,
    on_repository,
)

__all__ = ["OPERATIONS"]


class DeletedNamespace(msgspec.Struct, frozen=True):
    """The storage namespace of a deleted repository; `deleted_at` in seconds since 1970."""

    storage_namespace: str
    repository: str
    deleted_at: int


class DeletedNamespaceList(msgspec.Struct, frozen=True):
    """Storage namespaces."""

    results: list[DeletedNamespace]


class NamespacePurge(Body, frozen=True):
    """The storage namespace whose data are to be removed."""

    storage_namespace: str


class PurgeCreation(msgspec.Struct, frozen=True):
    """A started purge."""

    id: str
    storage_namespace: str


class PurgeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a purge, which has removed `removed` objects and tables; a completed one has a
    result or an error.
    """

    id: str
    completed: bool
    update_time: str
    removed: int
    result: PurgeResult | UnsetType = UNSET
    error: Error | UnsetType = UNSET


class PurgeRepository(InRepository, frozen=True, kw_only=True):
    """Parameters of purgeRepository."""

    force: Annotated[bool, Meta(description="delete a read-only repository, too")] = False


class GetPurgeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of getPurgeStatus."""

    storage_namespace: str
    purge_id: str = field(name="id")


def purge_repository(call: Call[PurgeRepository, None]) -> PurgeCreation:
    """Starts to delete a repository with its data."""
    params = call.params
    started = call.services.purges.delete(params.repository, force=params.force)
    call.record_address(started.storage_namespace)
    return PurgeCreation(started.id, started.storage_namespace)


def list_deleted_namespaces(call: Call[None, None]) -> DeletedNamespaceList:
    """Returns the storage namespaces of deleted repositories that the user may purge."""
    repositories = call.services.catalog.repositories
    visible = []
    for left in call.services.purges.left():
        needed = [
            Permission(Action.PURGE_STORAGE_NAMESPACE, namespace_arn(spelling))
            for spelling in repositories.equivalent_namespaces(left.written_namespace)
        ]
        if all(map(call.authenticated.may, needed)):
            visible.append(
                DeletedNamespace(left.written_namespace, left.repository, int(left.deleted_at))
            )
    return DeletedNamespaceList(visible)


def purge_namespace(call: Call[None, NamespacePurge]) -> PurgeCreation:
    """Starts to remove the data of a deleted repository."""
    call.record_address(call.body.storage_namespace)
    started = call.services.purges.purge(call.body.storage_namespace)
    return PurgeCreation(started.id, started.storage_namespace)


def get_purge_status(call: Call[GetPurgeStatus, None]) -> PurgeStatus:
    """Returns the state of a purge."""
    params = call.params
    task = call.services.purges.status(params.storage_namespace, params.purge_id)
    return PurgeStatus(
        id=task.id,
        completed=task.done,
        update_time=datetime.fromtimestamp(task.updated_at, UTC).isoformat().replace("+00:00", "Z"),
        removed=task.progress,
        result=UNSET if task.result is None else task.result,
        error=Error(task.error) if task.error else UNSET,
    )


_NAMESPACES = "/storage/namespaces"

OPERATIONS = (
    Operation(
        id="purgeRepository",
        tag="repositories",
        method="POST",
        path="/repositories/{repository}/purge",
        summary="delete a repository with its data, if nothing else refers to them",
        permission=(
            Need(Action.DELETE_REPOSITORY, on_repository),
            Need(Action.PURGE_STORAGE_NAMESPACE, on_namespace_of_repository),
        ),
        params=PurgeRepository,
        status=202,
        response=PurgeCreation,
        handler=purge_repository,
    ),
    Operation(
        id="listDeletedNamespaces",
        tag="repositories",
        method="GET",
        path=_NAMESPACES,
        summary="list storage namespaces with data of deleted repositories",
        permission=(Need(Action.LIST_REPOSITORIES, on_anything),),
        response=DeletedNamespaceList,
        handler=list_deleted_namespaces,
    ),
    Operation(
        id="purgeNamespace",
        tag="repositories",
        method="POST",
        path=_NAMESPACES + "/purges",
        summary="remove the data of a deleted repository, if nothing else refers to them",
        permission=(Need(Action.PURGE_STORAGE_NAMESPACE, on_namespace),),
        body=NamespacePurge,
        status=202,
        response=PurgeCreation,
        handler=purge_namespace,
    ),
    Operation(
        id="getPurgeStatus",
        tag="repositories",
        method="GET",
        path=_NAMESPACES + "/purges",
        summary="get the state of a purge",
        permission=(Need(Action.PURGE_STORAGE_NAMESPACE, on_named_namespace),),
        params=GetPurgeStatus,
        response=PurgeStatus,
        handler=get_purge_status,
    ),
)
