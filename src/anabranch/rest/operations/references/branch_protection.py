"""Branch protection: the rules of a repository, read and replaced whole, on condition if wanted.

A rule in a request may lack `required_approvals`, which lakeFS does not have: the rule then keeps
the number that its pattern had. So lakeFS's clients, which replace all rules by patterns alone, do
not remove the requirement.

The older addresses, one rule at a time, are kept for clients that use them.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field
from msgspec.structs import replace

from anabranch.access.policies.permissions import Action
from anabranch.errors import NotFound
from anabranch.http.execution import Execution
from anabranch.http.response import Response
from anabranch.model.references.protection import MAX_REQUIRED_APPROVALS, ProtectionRules
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import HEADER, InRepository
from anabranch.rest.protocol.preflight import check_permission
from anabranch.rest.protocol.resources import on_repository
from anabranch.rest.protocol.responses import json_response

__all__ = ["OPERATIONS"]

_Pattern = Annotated[
    str,
    Meta(
        min_length=1,
        description="pattern of branch names: * and ? stand for any text and any character; "
        "[abc], [a-z], [!a] and {this,that} are supported too",
    ),
]
_RequiredApprovals = Annotated[
    int,
    Meta(
        ge=0,
        le=MAX_REQUIRED_APPROVALS,
        description="the number of approvals that a pull request into the branch needs; absent in "
        "a response for 0, and in a request to leave it as it is",
    ),
]
_IfMatch = Annotated[
    str, HEADER, Meta(description="replace only rules of this ETag; empty if there are none")
]


class BranchProtectionRule(Body, frozen=True):
    """A rule: branches with matching names cannot be written or committed to directly."""

    pattern: _Pattern
    required_approvals: _RequiredApprovals | UnsetType = UNSET


class SetRules(InRepository, frozen=True, kw_only=True):
    """Parameters of setBranchProtectionRules."""

    if_match: _IfMatch = field(default="", name="If-Match")


def get_rules(call: Call[InRepository, None]) -> Response:
    """Returns the rules, and their ETag."""
    rules = call.services.catalog.protection.rules(call.params.repository)
    return json_response(200, _to_wire(rules), [("ETag", rules.etag)])


def set_rules(call: Call[SetRules, list[BranchProtectionRule]]) -> None:
    """Replaces all rules. An empty If-Match, unlike a missing one, requires that none were set."""
    call.services.catalog.protection.replace(
        call.params.repository,
        [rule.pattern for rule in call.body],
        approvals=_approvals(call.body),
        if_match=call.params.if_match if "if-match" in call.request.headers else None,
    )


def add_rule(call: Call[InRepository, BranchProtectionRule]) -> None:
    """Adds a rule."""
    protection, repository = call.services.catalog.protection, call.params.repository
    rules = protection.rules(repository)
    patterns = [*rules.patterns, call.body.pattern]
    protection.replace(repository, patterns, approvals=_approvals([call.body]), if_match=rules.etag)


def delete_rule(call: Call[InRepository, BranchProtectionRule]) -> None:
    """Removes a rule. Raises NotFound."""
    protection, repository = call.services.catalog.protection, call.params.repository
    rules = protection.rules(repository)
    remaining = [pattern for pattern in rules.patterns if pattern != call.body.pattern]
    if len(remaining) == len(rules.patterns):
        raise NotFound("rule not found", kind="rule_not_found")
    protection.replace(repository, remaining, if_match=rules.etag)


def _to_wire(rules: ProtectionRules) -> list[BranchProtectionRule]:
    return [
        BranchProtectionRule(pattern, rules.approvals.get(pattern, UNSET))
        for pattern in rules.patterns
    ]


def _approvals(rules: list[BranchProtectionRule]) -> dict[str, int]:
    """Returns the numbers of approvals that a request sets, by pattern."""
    return {
        rule.pattern: rule.required_approvals
        for rule in rules
        if rule.required_approvals is not UNSET
    }


_RULES = "/repositories/{repository}/settings/branch_protection"
_INTERNAL_RULES = "/repositories/{repository}/branch_protection"
_READ_PERMISSION = (Need(Action.GET_BRANCH_PROTECTION_RULES, on_repository),)
_SET_PERMISSION = (Need(Action.SET_BRANCH_PROTECTION_RULES, on_repository),)

_GET: Operation[InRepository, None] = Operation(
    id="getBranchProtectionRules",
    tag="repositories",
    method="GET",
    path=_RULES,
    summary="get branch protection rules",
    permission=_READ_PERMISSION,
    params=InRepository,
    response=list[BranchProtectionRule],
    execution=Execution.INLINE,
    handler=get_rules,
)

OPERATIONS = (
    _GET,
    Operation(
        id="setBranchProtectionRules",
        tag="repositories",
        method="PUT",
        path=_RULES,
        summary="set branch protection rules",
        permission=_SET_PERMISSION,
        params=SetRules,
        body=list[BranchProtectionRule],
        status=204,
        handler=set_rules,
    ),
    Operation(
        id="createBranchProtectionRulePreflight",
        tag="internal",
        method="GET",
        path=_INTERNAL_RULES + "/set_allowed",
        summary="check if setting branch protection rules is allowed",
        permission=_SET_PERMISSION,
        params=InRepository,
        status=204,
        execution=Execution.INLINE,
        handler=check_permission,
    ),
    replace(_GET, id="internalGetBranchProtectionRules", tag="internal", path=_INTERNAL_RULES),
    Operation(
        id="internalCreateBranchProtectionRule",
        tag="internal",
        method="POST",
        path=_INTERNAL_RULES,
        summary="add a branch protection rule",
        permission=_SET_PERMISSION,
        params=InRepository,
        body=BranchProtectionRule,
        status=204,
        handler=add_rule,
    ),
    Operation(
        id="internalDeleteBranchProtectionRule",
        tag="internal",
        method="DELETE",
        path=_INTERNAL_RULES,
        summary="remove a branch protection rule",
        permission=_SET_PERMISSION,
        params=InRepository,
        body=BranchProtectionRule,
        status=204,
        handler=delete_rule,
    ),
)
