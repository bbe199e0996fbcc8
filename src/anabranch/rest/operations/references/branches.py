"""Branches: list, create, get, delete, reset, and their uncommitted changes."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from msgspec import Meta

from anabranch.access.actors.visible_items import visible_items
from anabranch.access.policies.permissions import Action, Permission, branch_arn
from anabranch.http.execution import Execution
from anabranch.http.response import Response
from anabranch.model.page import DEFAULT_AMOUNT
from anabranch.model.references.branch import Branch
from anabranch.model.references.lifetime import NEVER, parse_lifetime
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import Amount, AtBranch, InRepository
from anabranch.rest.protocol.resources import on_branch, on_new_branch, on_repository
from anabranch.rest.protocol.responses import TEXT, no_content
from anabranch.rest.schemas.diffs import DiffList, IncludeSides, uncommitted_list
from anabranch.rest.schemas.pagination import PageOfRepository, brief_page_amount, page_amount
from anabranch.rest.schemas.references import Ref, RefList, ref_list, to_ref

__all__ = ["EXTENSIONS", "OPERATIONS"]


_IncludeHidden = Annotated[bool, Meta(description="say whether a branch is hidden")]
_IncludeExpiry = Annotated[bool, Meta(description="say when a branch expires, 0 for never")]


class BranchCreation(Body, frozen=True, kw_only=True):
    """A branch to create from any reference; listings omit hidden branches."""

    name: str
    source: str
    force: bool = False
    hidden: bool = False
    expires: Annotated[
        str,
        Meta(
            description="how long it lives, such as 7d, or `never`; without it, as the ends by "
            "pattern of the repository say, else forever. To live longer than these say needs "
            "`fs:DeleteBranch` too"
        ),
    ] = ""


class BranchExpiry(Body, frozen=True, kw_only=True):
    """How long a branch lives from now on."""

    expires: Annotated[
        str, Meta(description="such as 7d; `never`, or empty, for a branch that stays")
    ]
    force: bool = False


class ResetCreation(Body, frozen=True, kw_only=True):
    """Which uncommitted changes to drop: all, those under a prefix, or one object's."""

    type: Literal["object", "common_prefix", "reset"]
    path: str = ""
    force: bool = False


class ListBranches(PageOfRepository, frozen=True, kw_only=True):
    """Parameters of listBranches."""

    show_hidden: bool = False
    include_hidden: _IncludeHidden = False
    include_expiry: _IncludeExpiry = False


class GetBranch(AtBranch, frozen=True, kw_only=True):
    """Parameters of getBranch."""

    include_hidden: _IncludeHidden = False
    include_expiry: _IncludeExpiry = False


class ChangeBranch(AtBranch, frozen=True, kw_only=True):
    """Parameters of changes that a read-only repository refuses unless forced."""

    force: bool = False


class HardResetBranch(ChangeBranch, frozen=True, kw_only=True):
    """Parameters of hardResetBranch."""

    ref: Annotated[str, Meta(min_length=1, description="the reference to move the branch to")]


class DiffBranch(AtBranch, frozen=True, kw_only=True):
    """Parameters of diffBranch."""

    after: str = ""
    amount: Amount = DEFAULT_AMOUNT
    prefix: str = ""
    delimiter: str = ""
    include_sides: IncludeSides = False


def list_branches(call: Call[ListBranches, None]) -> RefList:
    """Returns a page of the branches that the user may read."""
    params = call.params
    page = visible_items(
        partial(
            call.services.catalog.branches.list,
            params.repository,
            prefix=params.prefix,
            show_hidden=params.show_hidden,
        ),
        call.actor,
        lambda branch: branch.id,
        lambda name: Permission(Action.READ_BRANCH, branch_arn(params.repository, name)),
        after=params.after,
        amount=brief_page_amount(params.amount),
    )
    return ref_list(
        page, include_hidden=params.include_hidden, include_expiry=params.include_expiry
    )


def create_branch(call: Call[InRepository, BranchCreation]) -> Response:
    """Creates a branch; the response is the id of its commit, as plain text."""
    body, repository, catalog = call.body, call.params.repository, call.services.catalog
    expires_at = _expires_at(call, body.expires)
    end = expires_at if body.expires else None
    catalog.branch_ends.require_allowed(repository, body.name, end, call.authenticated)
    branch = catalog.branches.create(
        repository,
        body.name,
        body.source,
        hidden=body.hidden,
        expires_at=end,
        force=body.force,
        extra_writes=call.recording(_created_response),
    )
    return _created_response(branch)


def _created_response(branch: Branch) -> Response:
    return Response(201, branch.commit_id.encode(), content_type=TEXT)


def get_branch(call: Call[GetBranch, None]) -> Ref:
    """Returns a branch."""
    branch = call.services.catalog.branches.get(call.params.repository, call.params.branch)
    params = call.params
    return to_ref(
        branch, include_hidden=params.include_hidden, include_expiry=params.include_expiry
    )


def set_branch_expiry(call: Call[AtBranch, BranchExpiry]) -> Ref:
    """Changes when a branch expires."""
    params, body = call.params, call.body
    branch = call.services.catalog.branches.set_expiry(
        params.repository,
        params.branch,
        _expires_at(call, body.expires),
        force=body.force,
    )
    return to_ref(branch, include_expiry=True)


def _expires_at(call: Call[Any, Any], lifetime: str) -> int:
    if lifetime in ("", NEVER):
        return 0
    return int(call.services.clock()) + parse_lifetime(lifetime)


def delete_branch(call: Call[ChangeBranch, None]) -> None:
    """Deletes a branch with its uncommitted changes."""
    params = call.params
    call.services.catalog.branches.delete(
        params.repository,
        params.branch,
        force=params.force,
        extra_writes=call.recording(no_content),
    )


def reset_branch(call: Call[AtBranch, ResetCreation]) -> None:
    """Drops uncommitted changes."""
    call.services.catalog.branches.reset(
        call.params.repository,
        call.params.branch,
        call.body.type,
        call.body.path,
        force=call.body.force,
    )


def hard_reset_branch(call: Call[HardResetBranch, None]) -> None:
    """Moves a branch to another commit."""
    params = call.params
    call.services.catalog.branches.hard_reset(
        params.repository,
        params.branch,
        params.ref,
        force=params.force,
        extra_writes=call.recording(no_content),
    )


def diff_branch(call: Call[DiffBranch, None]) -> DiffList:
    """Returns a page of a branch's uncommitted changes."""
    params = call.params
    page = call.services.catalog.branches.changes(
        params.repository,
        params.branch,
        prefix=params.prefix,
        after=params.after,
        delimiter=params.delimiter,
        amount=page_amount(params.amount),
        readable=call.readable_paths(params.branch, params.prefix),
    )
    return uncommitted_list(page, include_sides=params.include_sides)


_BRANCHES = "/repositories/{repository}/branches"
_BRANCH = _BRANCHES + "/{branch}"

OPERATIONS = (
    Operation(
        id="listBranches",
        tag="branches",
        method="GET",
        path=_BRANCHES,
        summary="list branches",
        permission=(Need(Action.LIST_BRANCHES, on_repository),),
        params=ListBranches,
        response=RefList,
        execution=Execution.BRIEF_READ,
        handler=list_branches,
    ),
    Operation(
        id="createBranch",
        tag="branches",
        method="POST",
        path=_BRANCHES,
        summary="create branch",
        permission=(Need(Action.CREATE_BRANCH, on_new_branch),),
        params=InRepository,
        body=BranchCreation,
        status=201,
        response=Annotated[str, Meta(description="the id of the branch's commit")],
        media_type="text/plain",
        keyed=True,
        execution=Execution.BRIEF_CHANGE,
        handler=create_branch,
    ),
    Operation(
        id="getBranch",
        tag="branches",
        method="GET",
        path=_BRANCH,
        summary="get branch",
        permission=(Need(Action.READ_BRANCH, on_branch),),
        params=GetBranch,
        response=Ref,
        execution=Execution.INLINE,
        handler=get_branch,
    ),
    Operation(
        id="deleteBranch",
        tag="branches",
        method="DELETE",
        path=_BRANCH,
        summary="delete branch",
        permission=(Need(Action.DELETE_BRANCH, on_branch),),
        params=ChangeBranch,
        status=204,
        keyed=True,
        execution=Execution.BRIEF_CHANGE,
        handler=delete_branch,
    ),
    Operation(
        id="resetBranch",
        tag="branches",
        method="PUT",
        path=_BRANCH,
        summary="reset branch",
        permission=(Need(Action.REVERT_BRANCH, on_branch),),
        params=AtBranch,
        body=ResetCreation,
        status=204,
        handler=reset_branch,
    ),
    Operation(
        id="hardResetBranch",
        tag="experimental",
        method="PUT",
        path=_BRANCH + "/hard_reset",
        summary="move a branch to another commit",
        permission=(Need(Action.REVERT_BRANCH, on_branch),),
        params=HardResetBranch,
        status=204,
        keyed=True,
        handler=hard_reset_branch,
    ),
    Operation(
        id="diffBranch",
        tag="branches",
        method="GET",
        path=_BRANCH + "/diff",
        summary="diff branch",
        permission=(Need(Action.LIST_OBJECTS, on_repository),),
        params=DiffBranch,
        response=DiffList,
        handler=diff_branch,
    ),
)

EXTENSIONS = (
    Operation(
        id="setBranchExpiry",
        tag="branches",
        method="PUT",
        path=_BRANCH + "/expiry",
        summary="change when a branch expires",
        permission=(
            Need(Action.CREATE_BRANCH, on_branch),
            Need(Action.DELETE_BRANCH, on_branch),
        ),
        params=AtBranch,
        body=BranchExpiry,
        response=Ref,
        handler=set_branch_expiry,
    ),
)
"""Operations that lakeFS does not have."""
