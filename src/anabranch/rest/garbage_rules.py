"""Rules of garbage collection: read, replaced whole, deleted; under an older address, too."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from anabranch.access.permissions import Action
from anabranch.model.retention import MAX_DAYS, RetentionRules
from anabranch.rest.call import Call
from anabranch.rest.operation import Need, Operation
from anabranch.rest.parameters import InRepository
from anabranch.rest.preflight import permitted
from anabranch.rest.resources import on_repository

__all__ = ["OPERATIONS"]

_Days = Annotated[int, Meta(ge=0, le=MAX_DAYS, description="for how long what is replaced stays")]


class GarbageCollectionRule(msgspec.Struct, frozen=True):
    """The rule of one branch."""

    branch_id: str
    retention_days: _Days


class GarbageCollectionRules(msgspec.Struct, frozen=True):
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
    """Replaces all rules; of several for one branch the last holds."""
    branch_days = {rule.branch_id: rule.retention_days for rule in call.body.branches}
    call.services.catalog.garbage_rules.set(
        call.params.repository, RetentionRules(call.body.default_retention_days, branch_days)
    )


def delete_rules(call: Call[InRepository, None]) -> None:
    """Deletes the rules."""
    call.services.catalog.garbage_rules.delete(call.params.repository)


_RULES = "/repositories/{repository}/settings/gc_rules"
_OLDER = "/repositories/{repository}/gc/rules"
_MAY_GET = (Need(Action.GET_GARBAGE_COLLECTION_RULES, on_repository),)
_MAY_SET = (Need(Action.SET_GARBAGE_COLLECTION_RULES, on_repository),)

OPERATIONS = (
    Operation(
        id="getGCRules",
        tag="repositories",
        method="GET",
        path=_RULES,
        summary="get repository GC rules",
        permission=_MAY_GET,
        params=InRepository,
        response=GarbageCollectionRules,
        handler=get_rules,
    ),
    Operation(
        id="setGCRules",
        tag="repositories",
        method="PUT",
        path=_RULES,
        summary="set repository GC rules",
        permission=_MAY_SET,
        params=InRepository,
        body=GarbageCollectionRules,
        status=204,
        handler=set_rules,
    ),
    Operation(
        id="deleteGCRules",
        tag="repositories",
        method="DELETE",
        path=_RULES,
        summary="delete repository GC rules",
        permission=_MAY_SET,
        params=InRepository,
        status=204,
        handler=delete_rules,
    ),
    Operation(
        id="setGarbageCollectionRulesPreflight",
        tag="internal",
        method="GET",
        path=_OLDER + "/set_allowed",
        summary="check if setting GC rules is allowed",
        permission=_MAY_SET,
        params=InRepository,
        status=204,
        quick=True,
        handler=permitted,
    ),
    Operation(
        id="internalGetGarbageCollectionRules",
        tag="internal",
        method="GET",
        path=_OLDER,
        summary="get repository GC rules",
        permission=_MAY_GET,
        params=InRepository,
        response=GarbageCollectionRules,
        handler=get_rules,
    ),
    Operation(
        id="internalSetGarbageCollectionRules",
        tag="internal",
        method="POST",
        path=_OLDER,
        summary="set repository GC rules",
        permission=_MAY_SET,
        params=InRepository,
        body=GarbageCollectionRules,
        status=204,
        handler=set_rules,
    ),
    Operation(
        id="internalDeleteGarbageCollectionRules",
        tag="internal",
        method="DELETE",
        path=_OLDER,
        summary="delete repository GC rules",
        permission=_MAY_SET,
        params=InRepository,
        status=204,
        handler=delete_rules,
    ),
)
