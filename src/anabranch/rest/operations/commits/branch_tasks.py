"""Asynchronous commits and merges, as in lakeFS Enterprise: start, status.

Their bodies, permissions and results are those of the synchronous operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType, field

from anabranch.access.policies.permissions import Action
from anabranch.errors import Invalid
from anabranch.model.commits.commit import Commit as ModelCommit
from anabranch.model.tasks.job import JobStatus
from anabranch.rest.operations.commits.commits import (
    Commit,
    CommitCreation,
    CommitParams,
    commit_staged,
    to_commit,
)
from anabranch.rest.operations.commits.merges import (
    MERGE_NEEDS,
    Merge,
    MergeRefs,
    MergeResult,
    merge_refs,
)
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.errors import Error
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtBranch
from anabranch.rest.protocol.resources import (
    on_branch,
    on_destination_branch,
)
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = ["OPERATIONS"]


class TaskCreation(msgspec.Struct, frozen=True):
    """A started task."""

    id: str


class CommitAsyncStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a commit; a completed one has a result, or an error, its HTTP status and, which
    lakeFS does not have, its kind and hint.
    """

    task_id: str
    completed: bool
    update_time: datetime
    result: Commit | UnsetType = UNSET
    error: Error | UnsetType = UNSET
    status_code: int | UnsetType = UNSET
    error_kind: str | UnsetType = UNSET
    error_hint: str | UnsetType = UNSET


class MergeAsyncStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of a merge; a completed one has a result, or an error, its HTTP status and, which
    lakeFS does not have, its kind and hint.
    """

    task_id: str
    completed: bool
    update_time: datetime
    result: MergeResult | UnsetType = UNSET
    error: Error | UnsetType = UNSET
    status_code: int | UnsetType = UNSET
    error_kind: str | UnsetType = UNSET
    error_hint: str | UnsetType = UNSET


class CommitTask(AtBranch, frozen=True, kw_only=True):
    """Parameters of commitAsyncStatus."""

    task_id: str = field(name="id")


class MergeTask(MergeRefs, frozen=True, kw_only=True):
    """Parameters of mergeIntoBranchAsyncStatus."""

    task_id: str = field(name="id")


StatusT = TypeVar("StatusT", CommitAsyncStatus, MergeAsyncStatus)


class _BackgroundCommit(msgspec.Struct, frozen=True):
    """The commit of a call, which runs after its response."""

    call: Call[CommitParams, CommitCreation]

    def run(self, extra_writes: Sequence[ExtraWritesFor[ModelCommit]]) -> object:
        """Commits."""
        return commit_staged(self.call, extra_writes)


class _BackgroundMerge(msgspec.Struct, frozen=True):
    """The merge of a call, which runs after its response."""

    call: Call[MergeRefs, Merge]

    def run(self, extra_writes: Sequence[ExtraWritesFor[ModelCommit]]) -> object:
        """Merges."""
        return merge_refs(self.call, extra_writes)


def start_commit(call: Call[CommitParams, CommitCreation]) -> TaskCreation:
    """Starts to commit a branch's uncommitted changes."""
    params = call.params
    task_id = call.services.branch_tasks.commits.start(
        params.repository,
        params.branch,
        _BackgroundCommit(call),
        force=call.body.force,
        extra_writes=call.recording(TaskCreation),
    )
    return TaskCreation(task_id)


def commit_status(call: Call[CommitTask, None]) -> CommitAsyncStatus:
    """Returns the status of a commit. Raises NotFound."""
    params = call.params
    status = call.services.branch_tasks.commits.status(
        params.repository, params.branch, params.task_id
    )
    result = UNSET if status.commit is None else to_commit(status.commit)
    return CommitAsyncStatus(result=result, **_state(status))


def start_merge(call: Call[MergeRefs, Merge]) -> TaskCreation:
    """Starts to merge a reference into a branch."""
    params = call.params
    if call.body.dry_run:
        raise Invalid(
            "a dry run is not asynchronous",
            kind="dry_run_asynchronous",
            hint="Send it to the synchronous operation.",
        )
    task_id = call.services.branch_tasks.merges.start(
        params.repository,
        params.destination_branch,
        _BackgroundMerge(call),
        force=call.body.force,
        extra_writes=call.recording(TaskCreation),
    )
    return TaskCreation(task_id)


def merge_status(call: Call[MergeTask, None]) -> MergeAsyncStatus:
    """Returns the status of a merge. Raises NotFound."""
    params = call.params
    status = call.services.branch_tasks.merges.status(
        params.repository, params.destination_branch, params.task_id
    )
    result = UNSET if status.commit is None else MergeResult(status.commit.id)
    return MergeAsyncStatus(result=result, **_state(status))


def _state(status: JobStatus) -> dict[str, Any]:
    """Returns the fields that both kinds of status have. As in lakeFS, failed tasks are completed
    too.
    """
    return {
        "task_id": status.id,
        "completed": status.ended,
        "update_time": datetime.fromtimestamp(status.updated_at, UTC),
        "error": Error(status.error) if status.error else UNSET,
        "status_code": status.status_code or UNSET,
        "error_kind": status.error_kind or UNSET,
        "error_hint": status.error_hint or UNSET,
    }


_COMMIT = "/repositories/{repository}/branches/{branch}/commits/async"
_MERGE = "/repositories/{repository}/refs/{sourceRef}/merge/{destinationBranch}/async"

OPERATIONS = (
    Operation(
        id="commitAsync",
        tag="commits",
        method="POST",
        path=_COMMIT,
        summary="create commit asynchronously",
        permission=(Need(Action.CREATE_COMMIT, on_branch),),
        params=CommitParams,
        body=CommitCreation,
        status=202,
        response=TaskCreation,
        keyed=True,
        handler=start_commit,
    ),
    Operation(
        id="commitAsyncStatus",
        tag="commits",
        method="GET",
        path=_COMMIT + "/{id}/status",
        summary="get status of an asynchronous commit",
        permission=(Need(Action.CREATE_COMMIT, on_branch),),
        params=CommitTask,
        response=CommitAsyncStatus,
        handler=commit_status,
    ),
    Operation(
        id="mergeIntoBranchAsync",
        tag="refs",
        method="POST",
        path=_MERGE,
        summary="merge references asynchronously",
        permission=(
            Need(Action.CREATE_COMMIT, on_destination_branch),
            *MERGE_NEEDS,
        ),
        params=MergeRefs,
        body=Merge,
        body_optional=True,
        status=202,
        response=TaskCreation,
        keyed=True,
        handler=start_merge,
    ),
    Operation(
        id="mergeIntoBranchAsyncStatus",
        tag="refs",
        method="GET",
        path=_MERGE + "/{id}/status",
        summary="get status of an asynchronous merge",
        permission=(Need(Action.CREATE_COMMIT, on_destination_branch),),
        params=MergeTask,
        response=MergeAsyncStatus,
        handler=merge_status,
    ),
)
