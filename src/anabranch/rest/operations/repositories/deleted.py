"""Deleted repositories: list those that can be restored, restore them, give them up."""

from __future__ import annotations

import msgspec

from anabranch.access.policies.permissions import Action, Permission, repository_arn
from anabranch.model.repositories.deleted_repository import DeletedRepository as ModelDeleted
from anabranch.rest.operations.repositories.repositories import Repository, to_repository
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import (
    on_anything,
    on_namespace_of_deleted,
    on_repository,
)

__all__ = ["OPERATIONS"]


class DeletedRepository(msgspec.Struct, frozen=True):
    """A deleted repository that can be restored until `kept_until`; both times in seconds since
    1970.
    """

    id: str
    instance_uid: str
    storage_namespace: str
    deleted_at: float
    deleted_by: str
    kept_until: float


class DeletedRepositoryList(msgspec.Struct, frozen=True):
    """Deleted repositories."""

    results: list[DeletedRepository]


class DeletedRepositoryChoice(Body, frozen=True, kw_only=True):
    """Which one of the deleted repositories of a name, by default the one that was deleted last."""

    instance_uid: str = ""


def list_deleted_repositories(call: Call[None, None]) -> DeletedRepositoryList:
    """Returns the deleted repositories that the user could list or read."""
    actor = call.authenticated
    deleted = [
        each
        for each in call.services.catalog.repositories.deleted()
        if actor.may(Permission(Action.READ_REPOSITORY, repository_arn(each.repository.id)))
    ]
    return DeletedRepositoryList([_deleted(each) for each in deleted])


def restore_repository(call: Call[InRepository, DeletedRepositoryChoice]) -> Repository:
    """Makes a deleted repository what it was."""
    repositories = call.services.catalog.repositories
    uid = call.body.instance_uid
    return to_repository(repositories.restore(call.params.repository, instance_uid=uid))


def forget_repository(call: Call[InRepository, DeletedRepositoryChoice]) -> None:
    """Removes what is kept of a deleted repository."""
    repositories = call.services.catalog.repositories
    repositories.forget(call.params.repository, instance_uid=call.body.instance_uid)


def _deleted(deleted: ModelDeleted) -> DeletedRepository:
    return DeletedRepository(
        id=deleted.repository.id,
        instance_uid=deleted.repository.instance_uid,
        storage_namespace=deleted.repository.shown_namespace,
        deleted_at=deleted.deleted_at,
        deleted_by=deleted.user,
        kept_until=deleted.kept_until,
    )


OPERATIONS = (
    Operation(
        id="listDeletedRepositories",
        tag="repositories",
        method="GET",
        path="/storage/deleted_repositories",
        summary="list the deleted repositories that can be restored",
        permission=(Need(Action.LIST_REPOSITORIES, on_anything),),
        response=DeletedRepositoryList,
        handler=list_deleted_repositories,
    ),
    Operation(
        id="restoreRepository",
        tag="repositories",
        method="POST",
        path="/storage/deleted_repositories/{repository}/restore",
        summary="restore a deleted repository with its branches, tags, settings and staged changes",
        permission=(
            Need(Action.CREATE_REPOSITORY, on_repository),
            Need(Action.ATTACH_STORAGE_NAMESPACE, on_namespace_of_deleted),
        ),
        params=InRepository,
        body=DeletedRepositoryChoice,
        response=Repository,
        handler=restore_repository,
    ),
    Operation(
        id="forgetRepository",
        tag="repositories",
        method="POST",
        path="/storage/deleted_repositories/{repository}/forget",
        summary="remove what is kept of a deleted repository: it can then no longer be restored",
        permission=(
            Need(Action.DELETE_REPOSITORY, on_repository),
            Need(Action.SET_GARBAGE_COLLECTION_RULES, on_repository),
        ),
        params=InRepository,
        body=DeletedRepositoryChoice,
        status=204,
        handler=forget_repository,
    ),
)
