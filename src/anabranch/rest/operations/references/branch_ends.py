"""Ends of branches by pattern: the rules of a repository, read and replaced whole, on condition if
wanted.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from anabranch.access.policies.permissions import Action
from anabranch.http.execution import Execution
from anabranch.http.response import Response
from anabranch.model.references.branch_ends import BranchEnd
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import HEADER, InRepository
from anabranch.rest.protocol.resources import on_repository
from anabranch.rest.protocol.responses import json_response

__all__ = ["OPERATIONS"]


class BranchEndRule(Body, frozen=True):
    """A rule: new branches with matching names end, unless they are given another end."""

    pattern: Annotated[
        str,
        Meta(min_length=1, description="pattern of branch names, as for branch protection"),
    ]
    expires: Annotated[str, Meta(description="how long they live, such as 7d")]
    hidden: Annotated[bool, Meta(description="whether listings omit them")] = False


class SetBranchEnds(InRepository, frozen=True, kw_only=True):
    """Parameters of setBranchEnds."""

    if_match: Annotated[
        str, HEADER, Meta(description="replace only rules of this ETag; empty if there are none")
    ] = field(default="", name="If-Match")


def get_branch_ends(call: Call[InRepository, None]) -> Response:
    """Returns the rules in order, and their ETag."""
    ends = call.services.catalog.branch_ends.rules(call.params.repository)
    rules = [BranchEndRule(each.pattern, each.expires, each.hidden) for each in ends.rules]
    return json_response(200, rules, [("ETag", ends.etag)])


def set_branch_ends(call: Call[SetBranchEnds, list[BranchEndRule]]) -> None:
    """Replaces all rules. An empty If-Match, unlike a missing one, requires that none were set."""
    call.services.catalog.branch_ends.replace(
        call.params.repository,
        [BranchEnd(each.pattern, each.expires, each.hidden) for each in call.body],
        if_match=call.params.if_match if "if-match" in call.request.headers else None,
    )


_ENDS = "/repositories/{repository}/settings/branch_ends"

OPERATIONS = (
    Operation(
        id="getBranchEnds",
        tag="branches",
        method="GET",
        path=_ENDS,
        summary="get which new branches end, and when",
        permission=(Need(Action.GET_BRANCH_PROTECTION_RULES, on_repository),),
        params=InRepository,
        response=list[BranchEndRule],
        execution=Execution.INLINE,
        handler=get_branch_ends,
    ),
    Operation(
        id="setBranchEnds",
        tag="branches",
        method="PUT",
        path=_ENDS,
        summary="set which new branches end, and when",
        permission=(Need(Action.SET_BRANCH_PROTECTION_RULES, on_repository),),
        params=SetBranchEnds,
        body=list[BranchEndRule],
        status=204,
        handler=set_branch_ends,
    ),
)
"""Operations that lakeFS does not have."""
