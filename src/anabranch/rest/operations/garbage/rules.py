"""Rules of garbage collection: get, replace, delete; also at their older paths."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from anabranch.access.policies.permissions import Action
from anabranch.http.execution import Execution
from anabranch.model.repositories.retention import MAX_DAYS, RetentionRules
from anabranch.rest.protocol.body import Body
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import InRepository
from anabranch.rest.protocol.preflight import check_permission
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]

_Days = Annotated[int, Meta(ge=0, le=MAX_DAYS, description="days to keep replaced objects")]


class GarbageCollectionRule(Body, frozen=True):
    """The rule of one branch."""

    branch_id: str
    retention_days: _Days


class GarbageCollectionRules(Body, frozen=True):
    """The rules of a repository."""

    branches: list[GarbageCollectionRule]
    default_retention_days: _Days


def get_rules(call: Call[InRepository, None]) -> GarbageCollectionRules:
    """Returns the rules. Raises NotFound."""
    rules = call.services.catalog.garbage_rules.get(call.params.repository)
    return GarbageCollectionRules(
        [GarbageCollectionRule(*rule) for rule in sorted(rules.branch_days.items())],
        rules.default_days,
    )


def set_rules(call: Call[InRepository, GarbageCollectionRules]) -> None:
    """Replaces all rules; of several rules for a branch the last one applies."""
    branch_days = {rule.branch_id: rule.retention_days for rule in call.body.branches}
    call.services.catalog.garbage_rules.set(
        call.params.repository, RetentionRules(call.body.default_retention_days, branch_days)
    )


def delete_rules(call: Call[InRepository, None]) -> None:
    """Deletes the rules."""
    call.services.catalog.garbage_rules.delete(call.params.repository)


_RULES = "/repositories/{repository}/settings/gc_rules"
_INTERNAL_RULES = "/repositories/{repository}/gc/rules"
_GET_PERMISSION = (Need(Action.GET_GARBAGE_COLLECTION_RULES, on_repository),)
_SET_PERMISSION = (Need(Action.SET_GARBAGE_COLLECTION_RULES, on_repository),)

_GET: Operation[InRepository, None] = Operation(
    id="getGCRules",
    tag="repositories",
    method="GET",
    path=_RULES,
    summary="get repository GC rules",
    permission=_GET_PERMISSION,
    params=InRepository,
    response=GarbageCollectionRules,
    handler=get_rules,
)
_SET = Operation(
    id="setGCRules",
    tag="repositories",
    method="PUT",
    path=_RULES,
    summary="set repository GC rules",
    permission=_SET_PERMISSION,
    params=InRepository,
    body=GarbageCollectionRules,
    status=204,
    handler=set_rules,
)
_DELETE: Operation[InRepository, None] = Operation(
    id="deleteGCRules",
    tag="repositories",
    method="DELETE",
    path=_RULES,
    summary="delete repository GC rules",
    permission=_SET_PERMISSION,
    params=InRepository,
    status=204,
    handler=delete_rules,
)

OPERATIONS = (
    _GET,
    _SET,
    _DELETE,
    Operation(
        id="setGarbageCollectionRulesPreflight",
        tag="internal",
        method="GET",
        path=_INTERNAL_RULES + "/set_allowed",
        summary="check if setting GC rules is allowed",
        permission=_SET_PERMISSION,
        params=InRepository,
        status=204,
        execution=Execution.INLINE,
        handler=check_permission,
    ),
    replace(_GET, id="internalGetGarbageCollectionRules", tag="internal", path=_INTERNAL_RULES),
    replace(
        _SET,
        id="internalSetGarbageCollectionRules",
        tag="internal",
        method="POST",
        path=_INTERNAL_RULES,
    ),
    replace(
        _DELETE, id="internalDeleteGarbageCollectionRules", tag="internal", path=_INTERNAL_RULES
    ),
)
