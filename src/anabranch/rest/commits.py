"""Commits: make one, get one."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from anabranch.access.permissions import Action
from anabranch.errors import NotFound
from anabranch.model.commit import Commit as ModelCommit
from anabranch.rest.call import Call
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import AtBranch, InRepository, Seconds
from anabranch.rest.resources import on_branch, on_repository

__all__ = ["OPERATIONS", "Commit", "commit_of"]


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


class CommitCreation(msgspec.Struct, frozen=True, kw_only=True):
    """What to commit with; `date`, in seconds since 1970, replaces the time of the commit."""

    message: str
    metadata: dict[str, str] = {}
    date: Seconds | msgspec.UnsetType = msgspec.UNSET
    allow_empty: bool = False
    force: bool = False


class CommitParams(AtBranch, frozen=True, kw_only=True):
    """Parameters of commit."""

    source_metarange: Annotated[
        str,
        Meta(description="a tree to commit as it is, on a branch without uncommitted changes"),
    ] = ""


class GetCommit(InRepository, frozen=True, kw_only=True):
    """Parameters of getCommit."""

    commit_id: str = msgspec.field(name="commitId")


def commit_of(commit: ModelCommit) -> Commit:
    """Returns a commit as the wire shows it."""
    return Commit(
        committer=commit.committer,
        creation_date=commit.creation_date,
        generation=commit.generation,
        id=commit.id,
        message=commit.message,
        meta_range_id=commit.metarange_id,
        metadata=commit.metadata,
        parents=commit.parents,
        version=commit.version,
    )


def make_commit(call: Call[CommitParams, CommitCreation]) -> Commit:
    """Commits what is uncommitted on a branch."""
    asked = call.body
    commit = call.services.catalog.commits.commit(
        call.params.repository,
        call.params.branch,
        message=asked.message,
        committer=call.committer,
        metadata=asked.metadata,
        date=None if asked.date is msgspec.UNSET else asked.date,
        allow_empty=asked.allow_empty,
        force=asked.force,
        source_metarange=call.params.source_metarange,
        beside=call.recording(commit_of),
    )
    return commit_of(commit)


def get_commit(call: Call[GetCommit, None]) -> Commit:
    """Returns the commit that an expression names."""
    try:
        commit = call.services.catalog.commits.get(call.params.repository, call.params.commit_id)
    except NotFound as error:
        if error.kind == "repository_not_found":
            raise
        raise NotFound("commit not found", kind="commit_not_found", hint=error.hint) from error
    return commit_of(commit)


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
        id="getCommit",
        tag="commits",
        method="GET",
        path="/repositories/{repository}/commits/{commitId}",
        summary="get commit",
        permission=(Need(Action.READ_COMMIT, on_repository),),
        params=GetCommit,
        response=Commit,
        quick=True,
        handler=get_commit,
    ),
)
