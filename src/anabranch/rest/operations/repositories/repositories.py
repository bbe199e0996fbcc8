"""Repositories: list, create, get, delete, and their metadata."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import Action, Permission, repository_arn
from anabranch.http.execution import Execution
from anabranch.model.repositories.repository import Repository as ModelRepository
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import (
    on_anything,
    on_namespace,
    on_new_repository,
    on_repository,
)
from anabranch.rest.schemas.pagination import PageOf, Pagination, page_amount, to_pagination

__all__ = ["OPERATIONS", "Repository", "to_repository"]

_NAME = r"^[a-z0-9][a-z0-9-]{2,62}$"
_NAMESPACE = r"^(s3|gs|https?|mem|local|transient)://.*$"


class Repository(msgspec.Struct, frozen=True):
    """A repository on the wire; `creation_date` in seconds since 1970."""

    creation_date: int
    default_branch: str
    id: str
    storage_id: str
    storage_namespace: str
    read_only: bool | UnsetType = UNSET


class RepositoryList(msgspec.Struct, frozen=True):
    """A page of repositories."""

    pagination: Pagination
    results: list[Repository]


class RepositoryCreation(Body, frozen=True, kw_only=True):
    """A repository to create."""

    name: Annotated[str, Meta(pattern=_NAME)]
    storage_namespace: Annotated[str, Meta(pattern=_NAMESPACE)]
    storage_id: str = ""
    default_branch: str = ""
    sample_data: bool = False
    read_only: bool = False


class RepositoryMetadataSet(Body, frozen=True, kw_only=True):
    """Keys and values to set."""

    metadata: dict[str, str]


class RepositoryMetadataKeys(Body, frozen=True, kw_only=True):
    """Keys to remove."""

    keys: list[str]


class ListRepositories(PageOf, frozen=True, kw_only=True):
    """Parameters of listRepositories."""

    search: Annotated[str, Meta(description="only repositories whose name contains this")] = ""


class CreateRepository(msgspec.Struct, frozen=True, kw_only=True):
    """Parameters of createRepository."""

    bare: Annotated[bool, Meta(description="without a commit or a branch")] = False


class DeleteRepository(InRepository, frozen=True, kw_only=True):
    """Parameters of deleteRepository."""

    force: bool = False


def list_repositories(call: Call[ListRepositories, None]) -> RepositoryList:
    """Returns a page of the repositories that the user may list or read."""
    params = call.params
    page = visible_items(
        partial(
            call.services.catalog.repositories.list, prefix=params.prefix, search=params.search
        ),
        call.actor,
        lambda repository: repository.id,
        lambda name: Permission(Action.LIST_REPOSITORIES, repository_arn(name)),
        after=params.after,
        amount=page_amount(params.amount),
    )
    return RepositoryList(
        pagination=to_pagination(page), results=[to_repository(item) for item in page.items]
    )


def create_repository(call: Call[CreateRepository, RepositoryCreation]) -> Repository:
    """Creates a repository."""
    body = call.body
    repository = call.services.catalog.repositories.create(
        body.name,
        body.storage_namespace,
        default_branch=body.default_branch or "main",
        bare=call.params.bare,
        read_only=body.read_only,
        sample_data=body.sample_data,
        storage_id=body.storage_id,
        committer=call.committer,
    )
    return to_repository(repository, bare=call.params.bare)


def get_repository(call: Call[InRepository, None]) -> Repository:
    """Returns a repository."""
    return to_repository(call.services.catalog.repositories.get(call.params.repository))


def delete_repository(call: Call[DeleteRepository, None]) -> None:
    """Deletes a repository; the bytes of its objects stay in the store."""
    params = call.params
    call.services.catalog.repositories.delete(params.repository, force=params.force)


def get_repository_metadata(call: Call[InRepository, None]) -> dict[str, str]:
    """Returns the metadata of a repository."""
    return call.services.catalog.repositories.metadata(call.params.repository)


def set_repository_metadata(call: Call[InRepository, RepositoryMetadataSet]) -> None:
    """Sets keys of a repository's metadata; other keys are unchanged."""
    call.services.catalog.repositories.set_metadata(call.params.repository, call.body.metadata)


def delete_repository_metadata(call: Call[InRepository, RepositoryMetadataKeys]) -> None:
    """Removes keys of a repository's metadata."""
    call.services.catalog.repositories.delete_metadata(call.params.repository, call.body.keys)


def to_repository(repository: ModelRepository, *, bare: bool = False) -> Repository:
    """Returns the schema of a repository."""
    return Repository(
        creation_date=repository.creation_date,
        default_branch=repository.default_branch,
        id=repository.id,
        storage_id=repository.storage_id,
        storage_namespace=repository.shown_namespace,
        read_only=UNSET if bare else repository.read_only,
    )


_REPOSITORIES = "/repositories"
_REPOSITORY = _REPOSITORIES + "/{repository}"
_METADATA = _REPOSITORY + "/metadata"

OPERATIONS = (
    Operation(
        id="listRepositories",
        tag="repositories",
        method="GET",
        path=_REPOSITORIES,
        summary="list repositories",
        permission=(Need(Action.LIST_REPOSITORIES, on_anything),),
        params=ListRepositories,
        response=RepositoryList,
        handler=list_repositories,
    ),
    Operation(
        id="createRepository",
        tag="repositories",
        method="POST",
        path=_REPOSITORIES,
        summary="create repository",
        permission=(
            Need(Action.CREATE_REPOSITORY, on_new_repository),
            Need(Action.ATTACH_STORAGE_NAMESPACE, on_namespace),
        ),
        params=CreateRepository,
        body=RepositoryCreation,
        status=201,
        response=Repository,
        handler=create_repository,
    ),
    Operation(
        id="getRepository",
        tag="repositories",
        method="GET",
        path=_REPOSITORY,
        summary="get repository",
        permission=(Need(Action.READ_REPOSITORY, on_repository),),
        params=InRepository,
        response=Repository,
        execution=Execution.INLINE,
        handler=get_repository,
    ),
    Operation(
        id="deleteRepository",
        tag="repositories",
        method="DELETE",
        path=_REPOSITORY,
        summary="delete repository",
        permission=(Need(Action.DELETE_REPOSITORY, on_repository),),
        params=DeleteRepository,
        status=204,
        handler=delete_repository,
    ),
    Operation(
        id="getRepositoryMetadata",
        tag="repositories",
        method="GET",
        path=_METADATA,
        summary="get repository metadata",
        permission=(Need(Action.READ_REPOSITORY, on_repository),),
        params=InRepository,
        response=dict[str, str],
        execution=Execution.INLINE,
        handler=get_repository_metadata,
    ),
    Operation(
        id="setRepositoryMetadata",
        tag="internal",
        method="POST",
        path=_METADATA,
        summary="set repository metadata",
        permission=(Need(Action.UPDATE_REPOSITORY, on_repository),),
        params=InRepository,
        body=RepositoryMetadataSet,
        status=204,
        handler=set_repository_metadata,
    ),
    Operation(
        id="deleteRepositoryMetadata",
        tag="internal",
        method="DELETE",
        path=_METADATA,
        summary="delete repository metadata",
        permission=(Need(Action.UPDATE_REPOSITORY, on_repository),),
        params=InRepository,
        body=RepositoryMetadataKeys,
        status=204,
        handler=delete_repository_metadata,
    ),
)
