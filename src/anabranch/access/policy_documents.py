"""Checks of the statements that clients send, before they become a policy.

An error names the number of the statement, from 0, and its field.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from anabranch.access.permissions import ANY, Action
from anabranch.access.policies import parse_resource
from anabranch.access.statements import Effect, Statement
from anabranch.errors import Invalid

__all__ = ["MAX_DOCUMENT_BYTES", "check_size", "parse_statement"]

MAX_DOCUMENT_BYTES = 64 * 1024

_ARN = re.compile(r"arn:lakefs:[a-z]+:[^:]*:[^:]*:.+", re.DOTALL)
_CATALOG_ACTION = re.compile(r"catalog:[A-Z*?][A-Za-z*?]*")
"""lakeFS's actions on tables, which no operation needs here."""

_OPERATORS = {"IpAddress", "NotIpAddress", "StringLike", "StringNotLike"}


def parse_statement(
    index: int,
    effect: str,
    actions: list[str],
    resource: str,
    condition: dict[str, dict[str, list[str]]] | None,
) -> Statement:
    """Returns the statement of that number; raises Invalid (kind invalid_policy)."""
    where = f"statement {index}"
    if effect not in {"allow", "deny"}:
        raise _invalid(f"{where}: effect: {effect!r} is neither 'allow' nor 'deny'")
    if not actions:
        raise _invalid(f"{where}: action: empty list")
    for action in actions:
        if not _is_known(action):
            raise _invalid(f"{where}: action: no action is called {action!r}")
    resources = _resources(where, resource)
    for operator in condition or {}:
        if operator not in _OPERATORS:
            raise _invalid(f"{where}: condition: no operator is called {operator!r}")
    return Statement(
        Effect(effect),
        tuple(actions),
        resources,
        {
            operator: {field: tuple(values) for field, values in fields.items()}
            for operator, fields in (condition or {}).items()
        },
    )


def _resources(where: str, resource: str) -> tuple[str, ...]:
    try:
        resources = parse_resource(resource)
    except ValueError:
        raise _invalid(f"{where}: resource: not a list of names in JSON") from None
    if not resources:
        raise _invalid(f"{where}: resource: empty list")
    for name in resources:
        if name != ANY and not _ARN.fullmatch(name):
            raise _invalid(f"{where}: resource: malformed name {name!r}")
    return resources


def check_size(encoded: bytes) -> None:
    """Raises Invalid if a policy's record is longer than MAX_DOCUMENT_BYTES."""
    if len(encoded) > MAX_DOCUMENT_BYTES:
        raise _invalid(f"the policy is longer than {MAX_DOCUMENT_BYTES} bytes")


@lru_cache(maxsize=1024)
def _is_known(action: str) -> bool:
    """Returns whether an action, or any that a pattern stands for, is known."""
    if _CATALOG_ACTION.fullmatch(action):
        return True
    # a bracket is no pattern in actions
    pattern = re.compile(translate(action.replace("[", "[[]")))
    return any(pattern.match(known) for known in Action)


def _invalid(message: str) -> Invalid:
    return Invalid(
        message,
        kind="invalid_policy",
        hint="A resource is `*` or `arn:lakefs:fs:::repository/NAME`, for example.",
    )
