"""Dumps of references: dump and restore, at once or as a task."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.access.policies.permissions import Action
from anabranch.model.repositories.refs_dump import RefsDump as ModelRefsDump
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]


class RefsDump(msgspec.Struct, frozen=True, kw_only=True):
    """The trees of a dump, by their metarange ids."""

    branches_meta_range_id: str
    commits_meta_range_id: str
    tags_meta_range_id: str


class RefsRestore(RefsDump, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dump to restore; `force` allows it in a read-only repository."""

    force: bool = False


class TaskInfo(msgspec.Struct, frozen=True):
    """A started task."""

    id: str


class RepositoryRestoreStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a task; one that is done has succeeded unless it has an error."""

    id: str
    done: bool
    update_time: datetime
    error: str | UnsetType = UNSET


class RepositoryDumpStatus(RepositoryRestoreStatus, frozen=True, kw_only=True):
    """The status of a dump; one that is done has references or an error."""

    refs: RefsDump | UnsetType = UNSET


class AtTask(InRepository, frozen=True, kw_only=True):
    """Parameters of the operations that return a task's status."""

    task_id: Annotated[str, Meta(description="id of the task")]


def dump_refs(call: Call[InRepository, None]) -> RefsDump:
    """Dumps the references of a repository."""
    return _to_dump(call.services.catalog.refs_dumps.dump(call.params.repository))


def restore_refs(call: Call[InRepository, RefsRestore]) -> None:
    """Restores the references of a dump in a bare repository."""
    call.services.catalog.refs_dumps.restore(
        call.params.repository,
        _from_body(call.body),
        importable=call.importable_addresses(),
        force=call.body.force,
    )


def submit_dump(call: Call[InRepository, None]) -> TaskInfo:
    """Starts to dump the references of a repository."""
    return TaskInfo(call.services.catalog.refs_dumps.start_dump(call.params.repository))


def dump_status(call: Call[AtTask, None]) -> RepositoryDumpStatus:
    """Returns the status of a dump. Raises NotFound."""
    params = call.params
    task = call.services.catalog.refs_dumps.dump_status(params.repository, params.task_id)
    return RepositoryDumpStatus(
        id=task.id,
        done=task.done,
        update_time=datetime.fromtimestamp(task.updated_at, UTC),
        error=task.error or UNSET,
        refs=UNSET if task.result is None else _to_dump(task.result),
    )


def submit_restore(call: Call[InRepository, RefsRestore]) -> TaskInfo:
    """Starts to restore the references of a dump in a bare repository."""
    task_id = call.services.catalog.refs_dumps.start_restore(
        call.params.repository,
        _from_body(call.body),
        importable=call.importable_addresses(),
        force=call.body.force,
    )
    return TaskInfo(task_id)


def restore_status(call: Call[AtTask, None]) -> RepositoryRestoreStatus:
    """Returns the status of a restore. Raises NotFound."""
    params = call.params
    task = call.services.catalog.refs_dumps.restore_status(params.repository, params.task_id)
    return RepositoryRestoreStatus(
        id=task.id,
        done=task.done,
        update_time=datetime.fromtimestamp(task.updated_at, UTC),
        error=task.error or UNSET,
    )


def _to_dump(dump: ModelRefsDump) -> RefsDump:
    return RefsDump(
        branches_meta_range_id=dump.branches,
        commits_meta_range_id=dump.commits,
        tags_meta_range_id=dump.tags,
    )


def _from_body(body: RefsRestore) -> ModelRefsDump:
    return ModelRefsDump(
        commits=body.commits_meta_range_id,
        branches=body.branches_meta_range_id,
        tags=body.tags_meta_range_id,
    )


_REPOSITORY = "/repositories/{repository}"

_DUMP_PERMISSION = (
    Need(Action.LIST_TAGS, on_repository),
    Need(Action.LIST_BRANCHES, on_repository),
    Need(Action.LIST_COMMITS, on_repository),
)
_RESTORE_PERMISSION = (
    Need(Action.CREATE_TAG, on_repository),
    Need(Action.CREATE_BRANCH, on_repository),
    Need(Action.CREATE_COMMIT, on_repository),
)

OPERATIONS = (
    Operation(
        id="dumpRefs",
        tag="internal",
        method="PUT",
        path=_REPOSITORY + "/refs/dump",
        summary="dump repository refs (tags, commits, branches) to object store",
        permission=_DUMP_PERMISSION,
        params=InRepository,
        status=201,
        response=RefsDump,
        handler=dump_refs,
    ),
    Operation(
        id="restoreRefs",
        tag="internal",
        method="PUT",
        path=_REPOSITORY + "/refs/restore",
        summary="restore repository refs (tags, commits, branches) from object store",
        permission=_RESTORE_PERMISSION,
        params=InRepository,
        body=RefsRestore,
        handler=restore_refs,
    ),
    Operation(
        id="dumpSubmit",
        tag="repositories",
        method="POST",
        path=_REPOSITORY + "/dump",
        summary="backup the repository metadata (tags, commits, branches) in the background",
        permission=_DUMP_PERMISSION,
        params=InRepository,
        status=202,
        response=TaskInfo,
        handler=submit_dump,
    ),
    Operation(
        id="dumpStatus",
        tag="repositories",
        method="GET",
        path=_REPOSITORY + "/dump",
        summary="status of a repository dump task",
        permission=_DUMP_PERMISSION,
        params=AtTask,
        response=RepositoryDumpStatus,
        handler=dump_status,
    ),
    Operation(
        id="restoreSubmit",
        tag="repositories",
        method="POST",
        path=_REPOSITORY + "/restore",
        summary="restore a repository from a dump in the object store, in the background",
        permission=_RESTORE_PERMISSION,
        params=InRepository,
        body=RefsRestore,
        status=202,
        response=TaskInfo,
        handler=submit_restore,
    ),
    Operation(
        id="restoreStatus",
        tag="repositories",
        method="GET",
        path=_REPOSITORY + "/restore",
        summary="status of a restore task",
        permission=_RESTORE_PERMISSION,
        params=AtTask,
        response=RepositoryRestoreStatus,
        handler=restore_status,
    ),
)
