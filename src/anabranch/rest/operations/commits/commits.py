"""Commits: create, get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, field

from anabranch.access.policies.permissions import Action
from anabranch.errors import NotFound
from anabranch.http.execution import Execution
from anabranch.model.commits.commit import Commit as ModelCommit
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtBranch, InRepository, Int64, Seconds
from anabranch.rest.protocol.resources import on_branch, on_repository
from anabranch.versioning.staging.extra_writes import ExtraWritesFor

__all__ = [
    "OPERATIONS",
    "Commit",
    "CommitCreation",
    "CommitParams",
    "commit_staged",
    "to_commit",
]


class Commit(msgspec.Struct, frozen=True):
    """A commit on the wire; `creation_date` in seconds since 1970."""

    committer: str
    creation_date: int
    generation: int
    id: str
    message: str
    meta_range_id: str
    metadata: dict[str, str]
    parents: tuple[str, ...]
    version: int


class CommitCreation(Body, frozen=True, kw_only=True):
    """Message and metadata of a commit; `date`, in seconds since 1970, replaces its time."""

    message: str
    metadata: dict[str, str] = field(default_factory=dict)
    date: Seconds | msgspec.UnsetType = msgspec.UNSET
    allow_empty: bool = False
    force: bool = False


class CommitRecordCreation(Body, frozen=True, kw_only=True):
    """The record of a commit; `force` allows it in a read-only repository."""

    commit_id: str
    version: Annotated[int, Meta(ge=0, le=1)]
    committer: str
    message: str
    metarange_id: str
    creation_date: Seconds
    parents: list[str]
    generation: Int64
    metadata: dict[str, str] = field(default_factory=dict)
    force: bool = False


class CommitParams(AtBranch, frozen=True, kw_only=True):
    """Parameters of commit."""

    source_metarange: Annotated[
        str,
        Meta(description="a tree to commit as it is, on a branch without uncommitted changes"),
    ] = ""
    sweeps_begun: Annotated[
        int,
        Meta(
            description="with source_metarange: what getSweeps returned before the rows of the "
            "tree were read; lakeFS does not have this"
        ),
    ] = -1


class GetCommit(InRepository, frozen=True, kw_only=True):
    """Parameters of getCommit."""

    commit_id: str = msgspec.field(name="commitId")


def to_commit(commit: ModelCommit) -> Commit:
    """Returns the schema of a commit."""
    return Commit(  # by position, which takes two thirds of the time: a log has a thousand
        commit.committer,
        commit.creation_date,
        commit.generation,
        commit.id,
        commit.message,
        commit.metarange_id,
        commit.metadata,
        commit.parents,
        commit.version,
    )


def make_commit(call: Call[CommitParams, CommitCreation]) -> Commit:
    """Commits a branch's uncommitted changes."""
    return to_commit(commit_staged(call, call.recording(to_commit)))


def commit_staged(
    call: Call[CommitParams, CommitCreation], extra_writes: Sequence[ExtraWritesFor[ModelCommit]]
) -> ModelCommit:
    """Commits a branch's uncommitted changes; `extra_writes` adds writes to those of the commit."""
    body = call.body
    return call.services.catalog.commits.commit(
        call.params.repository,
        call.params.branch,
        message=body.message,
        committer=call.committer,
        metadata=body.metadata,
        date=None if body.date is msgspec.UNSET else body.date,
        allow_empty=body.allow_empty,
        force=body.force,
        source_metarange=call.params.source_metarange,
        importable=call.importable_addresses(),
        since=None if call.params.sweeps_begun < 0 else call.params.sweeps_begun,
        extra_writes=extra_writes,
    )


def get_commit(call: Call[GetCommit, None]) -> Commit:
    """Returns the commit of a reference expression."""
    try:
        commit = call.services.catalog.commits.get(call.params.repository, call.params.commit_id)
    except NotFound as error:
        if error.kind == "repository_not_found":
            raise
        raise NotFound("commit not found", kind="commit_not_found", hint=error.hint) from error
    return to_commit(commit)


def create_commit_record(call: Call[InRepository, CommitRecordCreation]) -> None:
    """Adds the record of a commit."""
    body = call.body
    commit = ModelCommit(
        id=body.commit_id,
        committer=body.committer,
        message=body.message,
        creation_date=body.creation_date,
        metarange_id=body.metarange_id,
        parents=tuple(body.parents),
        metadata=body.metadata,
        version=body.version,
        generation=body.generation,
    )
    call.services.catalog.commits.create_record(
        call.params.repository,
        commit,
        importable=call.importable_addresses(),
        force=body.force,
    )


OPERATIONS = (
    Operation(
        id="commit",
        tag="commits",
        method="POST",
        path="/repositories/{repository}/branches/{branch}/commits",
        summary="create commit",
        permission=(Need(Action.CREATE_COMMIT, on_branch),),
        params=CommitParams,
        body=CommitCreation,
        status=201,
        response=Commit,
        keyed=True,
        handler=make_commit,
    ),
    Operation(
        id="CreateCommitRecord",
        tag="internal",
        method="POST",
        path="/repositories/{repository}/commits",
        summary="create commit record",
        permission=(Need(Action.CREATE_COMMIT, on_repository),),
        params=InRepository,
        body=CommitRecordCreation,
        status=204,
        handler=create_commit_record,
    ),
    Operation(
        id="getCommit",
        tag="commits",
        method="GET",
        path="/repositories/{repository}/commits/{commitId}",
        summary="get commit",
        permission=(Need(Action.READ_COMMIT, on_repository),),
        params=GetCommit,
        response=Commit,
        execution=Execution.INLINE,
        handler=get_commit,
    ),
)
