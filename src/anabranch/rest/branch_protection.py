"""Branch protection: the rules of a repository, read and replaced whole, on condition if wanted.

The older addresses, one rule at a time, are kept for clients that use them.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta, field

from anabranch.access.permissions import Action
from anabranch.errors import NotFound
from anabranch.model.protection import ProtectionRules
from anabranch.rest.answer import Answer, json_answer
from anabranch.rest.call import Call
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import HEADER, InRepository
from anabranch.rest.preflight import permitted
from anabranch.rest.resources import on_repository

__all__ = ["OPERATIONS"]

_Pattern = Annotated[
    str,
    Meta(
        min_length=1,
        description="of branches' names: * and ? stand for any text and any character; "
        "[abc], [a-z], [!a] and {this,that} are known too",
    ),
]
_IfMatch = Annotated[
    str, HEADER, Meta(description="replace only rules of this ETag; empty if there are none")
]


class BranchProtectionRule(msgspec.Struct, frozen=True):
    """A rule: on branches whose names match, nothing is written or committed directly."""

    pattern: _Pattern


class SetRules(InRepository, frozen=True, kw_only=True):
    """Parameters of setBranchProtectionRules."""

    if_match: _IfMatch = field(default="", name="If-Match")


def get_rules(call: Call[InRepository, None]) -> Answer:
    """Returns the rules, and their ETag."""
    rules = call.services.catalog.protection.rules(call.params.repository)
    return json_answer(200, _on_the_wire(rules), [("ETag", rules.etag)])


def set_rules(call: Call[SetRules, list[BranchProtectionRule]]) -> None:
    """Replaces all rules. An empty If-Match, unlike none, holds where there are no rules yet."""
    call.services.catalog.protection.replace(
        call.params.repository,
        [rule.pattern for rule in call.body],
        if_match=call.params.if_match if "if-match" in call.request.headers else None,
    )


def get_rules_only(call: Call[InRepository, None]) -> list[BranchProtectionRule]:
    """Returns the rules."""
    return _on_the_wire(call.services.catalog.protection.rules(call.params.repository))


def add_rule(call: Call[InRepository, BranchProtectionRule]) -> None:
    """Adds a rule to those that are there."""
    protection, repository = call.services.catalog.protection, call.params.repository
    rules = protection.rules(repository)
    protection.replace(repository, [*rules.patterns, call.body.pattern], if_match=rules.etag)


def delete_rule(call: Call[InRepository, BranchProtectionRule]) -> None:
    """Takes a rule away. Raises NotFound."""
    protection, repository = call.services.catalog.protection, call.params.repository
    rules = protection.rules(repository)
    left = [pattern for pattern in rules.patterns if pattern != call.body.pattern]
    if len(left) == len(rules.patterns):
        raise NotFound("rule not found", kind="rule_not_found")
    protection.replace(repository, left, if_match=rules.etag)


def _on_the_wire(rules: ProtectionRules) -> list[BranchProtectionRule]:
    return [BranchProtectionRule(pattern) for pattern in rules.patterns]


_RULES = "/repositories/{repository}/settings/branch_protection"
_OLDER = "/repositories/{repository}/branch_protection"
_MAY_READ = (Need(Action.GET_BRANCH_PROTECTION_RULES, on_repository),)
_MAY_SET = (Need(Action.SET_BRANCH_PROTECTION_RULES, on_repository),)

OPERATIONS = (
    Operation(
        id="getBranchProtectionRules",
        tag="repositories",
        method="GET",
        path=_RULES,
        summary="get branch protection rules",
        permission=_MAY_READ,
        params=InRepository,
        response=list[BranchProtectionRule],
        quick=True,
        handler=get_rules,
    ),
    Operation(
        id="setBranchProtectionRules",
        tag="repositories",
        method="PUT",
        path=_RULES,
        summary="set branch protection rules",
        permission=_MAY_SET,
        params=SetRules,
        body=list[BranchProtectionRule],
        status=204,
        handler=set_rules,
    ),
    Operation(
        id="createBranchProtectionRulePreflight",
        tag="internal",
        method="GET",
        path=_OLDER + "/set_allowed",
        summary="check if setting branch protection rules is allowed",
        permission=_MAY_SET,
        params=InRepository,
        status=204,
        quick=True,
        handler=permitted,
    ),
    Operation(
        id="internalGetBranchProtectionRules",
        tag="internal",
        method="GET",
        path=_OLDER,
        summary="get branch protection rules",
        permission=_MAY_READ,
        params=InRepository,
        response=list[BranchProtectionRule],
        quick=True,
        handler=get_rules_only,
    ),
    Operation(
        id="internalCreateBranchProtectionRule",
        tag="internal",
        method="POST",
        path=_OLDER,
        summary="add a branch protection rule",
        permission=_MAY_SET,
        params=InRepository,
        body=BranchProtectionRule,
        status=204,
        handler=add_rule,
    ),
    Operation(
        id="internalDeleteBranchProtectionRule",
        tag="internal",
        method="DELETE",
        path=_OLDER,
        summary="remove a branch protection rule",
        permission=_MAY_SET,
        params=InRepository,
        body=BranchProtectionRule,
        status=204,
        handler=delete_rule,
    ),
)
