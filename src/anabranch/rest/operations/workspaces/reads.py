"""What the keys of workspaces have read: of a workspace, and of the pull request it became."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.catalog.workspaces.open_lineage import run_event
from anabranch.http.response import Response
from anabranch.model.references.workspace import WorkspaceRead, WorkspaceReads
from anabranch.rest.operations.workspaces.workspaces import AtWorkspace
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtPull
from anabranch.rest.protocol.resources import on_repository, on_workspace
from anabranch.rest.protocol.responses import json_response

__all__ = ["OPERATIONS"]

_Format = Annotated[
    Literal["json", "openlineage"],
    Meta(description="`openlineage`: a RunEvent whose inputs are the reads"),
]


class GetWorkspaceReads(AtWorkspace, frozen=True, kw_only=True):
    """Parameters of getWorkspaceReads."""

    format: _Format = "json"


class GetPullRequestReads(AtPull, frozen=True, kw_only=True):
    """Parameters of getPullRequestReads."""

    format: _Format = "json"


class Reads(msgspec.Struct, frozen=True):
    """What the keys of a workspace have read, at most 10,000, as far as the user may read it."""

    reads: tuple[WorkspaceRead, ...]
    left_out: Annotated[int, Meta(description="further reads, which were only counted")]


def get_workspace_reads(call: Call[GetWorkspaceReads, None]) -> Reads | Response:
    """Returns what the keys of a workspace have read."""
    params = call.params
    recorder = call.services.catalog.workspaces.reads
    found = recorder.of_workspace(params.repository, params.workspace)
    opened = call.services.catalog.workspaces.get(params.repository, params.workspace)
    return _answer(call, found, params.workspace, opened.workspace.run_id)


def get_pull_request_reads(call: Call[GetPullRequestReads, None]) -> Reads | Response:
    """Returns what was read for the proposal of a workspace; nothing for other pull requests."""
    params = call.params
    pull = call.services.catalog.pulls.get(params.repository, params.pull_request)
    recorder = call.services.catalog.workspaces.reads
    found = recorder.of_pull(params.repository, params.pull_request)
    return _answer(call, found, pull.source, "")


def _answer(
    call: Call[Any, None], found: WorkspaceReads, branch: str, run: str
) -> Reads | Response:
    readable = call.readable_paths("", "")
    if readable is not None:
        shown = tuple(each for each in found.reads if each.path in readable)
        found = msgspec.structs.replace(found, reads=shown)
    if call.params.format == "json":
        return Reads(found.reads, found.left_out)
    repository, now = call.params.repository, call.services.clock()
    return json_response(200, run_event(repository, branch, found, run_id=run, time=now))


OPERATIONS = (
    Operation(
        id="getWorkspaceReads",
        tag="workspaces",
        method="GET",
        path="/repositories/{repository}/workspaces/{workspace}/reads",
        summary="list what the keys of a workspace have read",
        permission=(Need(Action.READ_BRANCH, on_workspace),),
        params=GetWorkspaceReads,
        response=Reads,
        handler=get_workspace_reads,
    ),
    Operation(
        id="getPullRequestReads",
        tag="workspaces",
        method="GET",
        path="/repositories/{repository}/pulls/{pull_request}/reads",
        summary="list what was read for the proposal of a workspace",
        permission=(Need(Action.READ_PULL_REQUEST, on_repository),),
        params=GetPullRequestReads,
        response=Reads,
        handler=get_pull_request_reads,
    ),
)
