"""Workspaces: create, list, get, discard, checkpoint, restore, undo, diff, propose."""

from __future__ import annotations

from functools import partial
from typing import Any

from anabranch.access.actors.authorize import authorize
from anabranch.access.actors.object_rights import ObjectRights
from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import Action, Permission, branch_arn
from anabranch.catalog.workspaces.workspaces import new_name
from anabranch.errors import Denied
from anabranch.model.caller import Principal
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.model.references.lifetime import parse_lifetime
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.rest.operations.workspaces.schemas import (
    Checkpoint,
    CheckpointCreation,
    MergeCreation,
    Merged,
    NewWorkspace,
    Proposal,
    ProposalCreation,
    Restoration,
    UndoneInWorkspace,
    Workspace,
    WorkspaceCreation,
    WorkspaceList,
    to_checkpoint,
    to_new_workspace,
    to_workspace,
    workspace_list,
)
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation, OtherResponse
from anabranch.rest.protocol.parameters import Amount, InRepository
from anabranch.rest.protocol.resources import on_repository, on_workspace
from anabranch.rest.schemas.diffs import DiffList, IncludeSides, diff_list
from anabranch.rest.schemas.merge_conflicts import MergeConflictResult, described_conflicts
from anabranch.rest.schemas.operation_records import OperationRecord, to_operation_record
from anabranch.rest.schemas.pagination import page_amount

__all__ = ["OPERATIONS"]


class ListWorkspaces(InRepository, frozen=True, kw_only=True):
    """Parameters of listWorkspaces."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT


class AtWorkspace(InRepository, frozen=True, kw_only=True):
    """Parameters of operations on a workspace."""

    workspace: str


class DiffWorkspace(AtWorkspace, frozen=True, kw_only=True):
    """Parameters of diffWorkspace."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    prefix: str = ""
    delimiter: str = ""
    include_sides: IncludeSides = False


def create_workspace(call: Call[InRepository, WorkspaceCreation]) -> NewWorkspace:
    """Creates a workspace of the user; the response has its keys."""
    body, actor = call.body, call.authenticated
    if not actor.opens_sessions:
        raise Denied(
            "hooks and the keys of workspaces make no workspaces",
            kind="workspace_without_user",
            hint="Make it as a user: its keys would outlive the hook.",
        )
    repository, name, catalog = call.params.repository, _new_name(call), call.services.catalog
    seconds = parse_lifetime(body.expires)
    ends_at = int(call.services.clock()) + seconds
    catalog.branch_ends.require_allowed(repository, name, ends_at, actor)
    keys = call.services.access.workspace_keys.issue()
    opened = catalog.workspaces.create(
        repository,
        WorkspaceRequest(
            source=body.source,
            seconds=seconds,
            readable=body.readable,
            writable=body.writable,
            purpose=body.purpose,
            run_id=body.run_id,
            metadata=body.metadata,
            branch=name,
        ),
        creator=Principal(actor.username, actor.created_at, record_id=actor.record_id),
        access_key_id=keys.access_key_id,
        key_check=keys.check,
    )
    return to_new_workspace(
        opened,
        call.params.repository,
        token=keys.token.reveal(),
        access_key_id=keys.access_key_id,
        secret=keys.secret.reveal(),
    )


def list_workspaces(call: Call[ListWorkspaces, None]) -> WorkspaceList:
    """Returns a page of the workspaces whose branches the user may read."""
    params = call.params
    page = visible_items(
        partial(call.services.catalog.workspaces.list, params.repository),
        call.actor,
        lambda opened: opened.workspace.branch,
        lambda name: Permission(Action.READ_BRANCH, branch_arn(params.repository, name)),
        after=params.after,
        amount=page_amount(params.amount),
    )
    return workspace_list(page)


def get_workspace(call: Call[AtWorkspace, None]) -> Workspace:
    """Returns a workspace, without its keys."""
    params = call.params
    return to_workspace(call.services.catalog.workspaces.get(params.repository, params.workspace))


def discard_workspace(call: Call[AtWorkspace, None]) -> None:
    """Deletes a workspace and its branch."""
    params = call.params
    call.services.catalog.workspaces.discard(params.repository, params.workspace)


def checkpoint_workspace(call: Call[AtWorkspace, CheckpointCreation]) -> Checkpoint:
    """Commits what the workspace has written, with a label."""
    params, body = call.params, call.body
    return to_checkpoint(
        call.services.catalog.workspaces.checkpoint(
            params.repository,
            params.workspace,
            body.label,
            committer=call.committer,
            message=body.message,
        )
    )


def restore_workspace(call: Call[AtWorkspace, Restoration]) -> Checkpoint:
    """Moves the workspace to one of its checkpoints."""
    params = call.params
    return to_checkpoint(
        call.services.catalog.workspaces.restore(
            params.repository, params.workspace, call.body.checkpoint
        )
    )


def undo_in_workspace(call: Call[AtWorkspace, UndoneInWorkspace]) -> OperationRecord:
    """Undoes what the user or the keys of the workspace have done, and returns the operation."""
    params = call.params
    undone = call.services.catalog.workspaces.undo(
        params.repository,
        params.workspace,
        call.body.operation,
        actor=call.authenticated,
        extra_writes=call.recording(to_operation_record),
    )
    return to_operation_record(undone)


def diff_workspace(call: Call[DiffWorkspace, None]) -> DiffList:
    """Returns a page of what the workspace has changed."""
    params = call.params
    page = call.services.catalog.workspaces.diff(
        params.repository,
        params.workspace,
        prefix=params.prefix,
        after=params.after,
        delimiter=params.delimiter,
        amount=page_amount(params.amount),
        readable=call.readable_paths("", params.prefix),
    )
    return diff_list(page, include_sides=params.include_sides)


def propose_workspace(call: Call[AtWorkspace, ProposalCreation]) -> Proposal:
    """Opens a pull request of the workspace."""
    params, body = call.params, call.body
    pull = call.services.catalog.workspaces.propose(
        params.repository,
        params.workspace,
        destination=body.destination,
        title=body.title,
        description=body.description,
        author=call.committer,
        username=call.username,
        committer=call.committer,
    )
    return Proposal(pull.id)


def merge_workspace(call: Call[AtWorkspace, MergeCreation]) -> Merged:
    """Merges the proposal of the workspace; by its own keys, where a setting lets that through."""
    params, actor = call.params, call.authenticated
    merges = call.services.catalog.workspace_merges
    destination = merges.destination(params.repository, params.workspace)
    # what the keys do not reach, their creator must be allowed to do
    authorize(
        actor.creator,
        [Permission(Action.CREATE_COMMIT, branch_arn(params.repository, destination))],
    )
    place = params.repository, params.workspace
    fields: dict[str, Any] = {
        "committer": call.committer,
        "message": call.body.message,
        "rights": ObjectRights(
            actor.creator, params.repository, destination, by_catalog=actor.opens_sessions
        ),
    }
    with described_conflicts(call):
        if actor.opens_sessions:
            return Merged(merges.merge(*place, **fields))
        return Merged(merges.merge_unattended(*place, call.services.auto_merge, **fields))


def _on_new_workspace(call: Call[InRepository, WorkspaceCreation]) -> str:
    """The branch that the body names, or a random one."""
    return branch_arn(call.params.repository, _new_name(call))


def _new_name(call: Call[InRepository, WorkspaceCreation]) -> str:
    return call.body.branch or call.draw(new_name)


_WORKSPACES = "/repositories/{repository}/workspaces"
_WORKSPACE = _WORKSPACES + "/{workspace}"

OPERATIONS = (
    Operation(
        id="createWorkspace",
        tag="workspaces",
        method="POST",
        path=_WORKSPACES,
        summary="create a branch that ends, with keys that reach it alone",
        permission=(Need(Action.CREATE_BRANCH, _on_new_workspace),),
        params=InRepository,
        body=WorkspaceCreation,
        status=201,
        response=NewWorkspace,
        handler=create_workspace,
    ),
    Operation(
        id="listWorkspaces",
        tag="workspaces",
        method="GET",
        path=_WORKSPACES,
        summary="list workspaces",
        permission=(Need(Action.LIST_BRANCHES, on_repository),),
        params=ListWorkspaces,
        response=WorkspaceList,
        handler=list_workspaces,
    ),
    Operation(
        id="getWorkspace",
        tag="workspaces",
        method="GET",
        path=_WORKSPACE,
        summary="get a workspace",
        permission=(Need(Action.READ_BRANCH, on_workspace),),
        params=AtWorkspace,
        response=Workspace,
        handler=get_workspace,
    ),
    Operation(
        id="discardWorkspace",
        tag="workspaces",
        method="DELETE",
        path=_WORKSPACE,
        summary="delete a workspace with its branch",
        permission=(Need(Action.DELETE_BRANCH, on_workspace),),
        params=AtWorkspace,
        status=204,
        handler=discard_workspace,
    ),
    Operation(
        id="checkpointWorkspace",
        tag="workspaces",
        method="POST",
        path=_WORKSPACE + "/checkpoints",
        summary="commit what a workspace has written, with a label",
        permission=(Need(Action.CREATE_COMMIT, on_workspace),),
        params=AtWorkspace,
        body=CheckpointCreation,
        status=201,
        response=Checkpoint,
        handler=checkpoint_workspace,
    ),
    Operation(
        id="restoreWorkspace",
        tag="workspaces",
        method="POST",
        path=_WORKSPACE + "/restore",
        summary="move a workspace to one of its checkpoints",
        permission=(Need(Action.REVERT_BRANCH, on_workspace),),
        params=AtWorkspace,
        body=Restoration,
        response=Checkpoint,
        handler=restore_workspace,
    ),
    Operation(
        id="undoInWorkspace",
        tag="workspaces",
        method="POST",
        path=_WORKSPACE + "/undo",
        summary="undo a commit, a restore or a reset in a workspace: one's own, or with its keys "
        "what they have made",
        permission=(
            Need(Action.READ_BRANCH, on_workspace),
            Need(Action.REVERT_BRANCH, on_workspace),
        ),
        params=AtWorkspace,
        body=UndoneInWorkspace,
        response=OperationRecord,
        keyed=True,
        handler=undo_in_workspace,
    ),
    Operation(
        id="diffWorkspace",
        tag="workspaces",
        method="GET",
        path=_WORKSPACE + "/diff",
        summary="list what a workspace has changed",
        permission=(Need(Action.LIST_OBJECTS, on_repository),),
        params=DiffWorkspace,
        response=DiffList,
        handler=diff_workspace,
    ),
    Operation(
        id="proposeWorkspace",
        tag="workspaces",
        method="POST",
        path=_WORKSPACE + "/proposal",
        summary="open a pull request of a workspace",
        permission=(
            Need(Action.CREATE_COMMIT, on_workspace),
            Need(Action.WRITE_PULL_REQUEST, on_repository),
        ),
        params=AtWorkspace,
        body=ProposalCreation,
        status=201,
        response=Proposal,
        handler=propose_workspace,
    ),
    Operation(
        id="mergeWorkspace",
        tag="workspaces",
        method="POST",
        path=_WORKSPACE + "/merge",
        summary="merge the proposal of a workspace",
        permission=(
            Need(Action.READ_BRANCH, on_workspace),
            Need(Action.WRITE_PULL_REQUEST, on_repository),
        ),
        params=AtWorkspace,
        body=MergeCreation,
        response=Merged,
        others=(OtherResponse(status=409, description="Conflict", type=MergeConflictResult),),
        handler=merge_workspace,
    ),
)
