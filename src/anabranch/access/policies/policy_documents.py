"""Checks of the statements that clients send, before they become a policy.

An error names the number of the statement, from 1, and its field.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from anabranch.access.policies.action_resources import can_apply, resource_names
from anabranch.access.policies.conditions import BRANCH, OPERATORS, check_value
from anabranch.access.policies.permissions import ANY, BRANCH_ACTIONS, Action
from anabranch.access.policies.policies import parse_resource
from anabranch.access.policies.statements import Effect, Statement
from anabranch.errors import Invalid
from anabranch.patterns.wildcards import matches_name

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "check_action",
    "check_effective",
    "check_resource",
    "check_size",
    "parse_statement",
]

MAX_DOCUMENT_BYTES = 64 * 1024

_ARN = re.compile(r"arn:lakefs:[a-z]+:[^:]*:[^:]*:.+", re.DOTALL)


def parse_statement(
    number: int,
    effect: str,
    actions: list[str],
    resource: str,
    condition: dict[str, dict[str, list[str]]] | None,
) -> Statement:
    """Returns the statement of that number; raises Invalid (kind invalid_policy)."""
    where = f"statement {number}"
    if effect not in {"allow", "deny"}:
        raise _invalid(f"{where}: effect: {effect!r} is neither 'allow' nor 'deny'")
    if not actions:
        raise _invalid(f"{where}: action: empty list")
    for action in actions:
        check_action(action, f"{where}: action: ")
    resources = _resources(where, resource)
    for name in resources:
        check_effective(Effect(effect), actions, name, f"{where}: resource: ")
    for operator, fields in (condition or {}).items():
        _check_condition(f"{where}: condition", operator, fields)
    if any(BRANCH in fields for fields in (condition or {}).values()):
        _check_branch_actions(f"{where}: condition: {BRANCH}", Effect(effect), actions)
    return Statement(
        Effect(effect),
        tuple(actions),
        resources,
        {
            operator: {field: tuple(values) for field, values in fields.items()}
            for operator, fields in (condition or {}).items()
            if fields  # records do not keep an operator without fields, which requires nothing
        },
    )


def check_effective(effect: Effect, actions: list[str], resource: str, where: str = "") -> None:
    """Raises Invalid if none of these actions is about resources with this name. `where` begins
    the message.
    """
    if any(can_apply(effect, action, resource) for action in actions):
        return
    names = dict.fromkeys(name for action in actions for name in resource_names(action))
    raise _invalid(
        f"{where}{resource!r} is never the name of a resource of {', '.join(actions)}",
        hint=f"These are about {', '.join(names)}.",
    )


def _resources(where: str, resource: str) -> tuple[str, ...]:
    try:
        resources = parse_resource(resource)
    except ValueError:
        raise _invalid(f"{where}: resource: not a list of names in JSON") from None
    if not resources:
        raise _invalid(f"{where}: resource: empty list")
    for name in resources:
        check_resource(name, f"{where}: resource: ")
    return resources


def check_action(action: str, where: str = "") -> None:
    """Raises Invalid unless an action, or any that a pattern stands for, is known. `where` begins
    the message.
    """
    if not _is_known(action):
        raise _invalid(f"{where}no action is called {action!r}")


def check_resource(resource: str, where: str = "") -> None:
    """Raises Invalid unless a resource is `*` or an ARN. `where` begins the message."""
    if resource != ANY and not _ARN.fullmatch(resource):
        raise _invalid(f"{where}malformed name {resource!r}")


def _check_condition(where: str, operator: str, fields: dict[str, list[str]]) -> None:
    if operator not in OPERATORS:
        raise _invalid(f"{where}: no operator is called {operator!r}")
    for field, values in fields.items():
        if field not in OPERATORS[operator]:
            known = " or ".join(OPERATORS[operator])
            raise _invalid(f"{where}: {operator}: the field is {known}, not {field!r}")
        for value in values:
            try:
                check_value(operator, value)
            except ValueError:
                raise _invalid(f"{where}: {operator}: {field}: malformed value {value!r}") from None


def _check_branch_actions(where: str, effect: Effect, actions: list[str]) -> None:
    """Raises Invalid if a condition on the branch is about actions that change none: allowed, they
    never would be; denied, they always would be.
    """
    for pattern in actions:
        known = [action for action in Action if matches_name(pattern, action, "")]
        others = [action for action in known if action not in BRANCH_ACTIONS]
        if len(others) == len(known) or (others and effect is Effect.DENY):
            reason = f"{others[0]} changes no branch" if others else "it changes no branch"
            names = ", ".join(action for action in Action if action in BRANCH_ACTIONS)
            raise _invalid(f"{where}: {pattern}: {reason}", hint=f"These change one: {names}.")


def check_size(encoded: bytes) -> None:
    """Raises Invalid if a policy's record is longer than MAX_DOCUMENT_BYTES."""
    if len(encoded) > MAX_DOCUMENT_BYTES:
        raise _invalid(f"the policy is longer than {MAX_DOCUMENT_BYTES} bytes")


@lru_cache(maxsize=1024)
def _is_known(action: str) -> bool:
    """Returns whether an action, or any that a pattern stands for, is known."""
    # a bracket is no pattern in actions
    pattern = re.compile(translate(action.replace("[", "[[]")))
    return any(pattern.match(known) for known in Action)


def _invalid(
    message: str,
    hint: str = "A resource is `*` or `arn:lakefs:fs:::repository/NAME`, for example.",
) -> Invalid:
    return Invalid(message, kind="invalid_policy", hint=hint)
