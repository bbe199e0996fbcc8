"""Conditions of statements: comparisons of a request's address, user, time and branch with values.

Operators are lakeFS's (`IpAddress`, `NotIpAddress`, `StringLike`, `StringNotLike`) and, of our own,
`StringEquals`, `StringNotEquals`, `DateGreaterThan` and `DateLessThan`; the field `lakefs:branch`
is our own, too. A condition holds if each
comparison does; a comparison holds if any value matches, and a negated one if none does. A
condition that cannot be evaluated never permits anything: an allowing statement does not apply
then, and a denying one does.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

import msgspec

from anabranch.patterns.wildcards import name_pattern

__all__ = [
    "BRANCH",
    "NO_CONTEXT",
    "OPERATORS",
    "Condition",
    "RequestContext",
    "applies",
    "check_value",
    "evaluate",
    "names_branch",
]

Condition = Mapping[str, Mapping[str, tuple[str, ...]]]

SOURCE_IP, USERNAME, CURRENT_TIME = "SourceIp", "lakefs:Username", "CurrentTime"
BRANCH = "lakefs:branch"
"""The branch that an action changes."""

_TEXTS = (SOURCE_IP, USERNAME, BRANCH)

OPERATORS: Mapping[str, tuple[str, ...]] = {
    "IpAddress": (SOURCE_IP,),
    "NotIpAddress": (SOURCE_IP,),
    "StringLike": _TEXTS,
    "StringNotLike": _TEXTS,
    "StringEquals": _TEXTS,
    "StringNotEquals": _TEXTS,
    "DateGreaterThan": (CURRENT_TIME,),
    "DateLessThan": (CURRENT_TIME,),
}
"""The operators, and the fields of a request that each compares."""


class RequestContext(msgspec.Struct, frozen=True, kw_only=True):
    """What conditions compare: the client's address, the user's name, the time in seconds since
    1970, and the branch that is changed. None where it is not known.
    """

    source_ip: str | None = None
    username: str | None = None
    time: float | None = None
    branch: str | None = None

    def on_branch(self, branch: str | None) -> RequestContext:
        """Returns the context of an action that changes a branch; None if the branch is unknown."""
        if branch == self.branch:
            return self
        return msgspec.structs.replace(self, branch=branch)


NO_CONTEXT = RequestContext()
"""Nothing is known of the request, so that no condition can be evaluated."""


def applies(condition: Condition, context: RequestContext, *, denies: bool) -> bool:
    """Returns whether a statement with this condition applies. One that cannot be evaluated
    applies if the statement denies.
    """
    if not condition:
        return True
    holds = evaluate(condition, context)
    return denies if holds is None else holds


def evaluate(condition: Condition, context: RequestContext) -> bool | None:
    """Returns whether a condition holds, None if it cannot be evaluated: it has an unknown
    operator, field or malformed value, or compares what is not known of the request.
    """
    results = [
        _compare(operator, field, values, context)
        for operator, fields in condition.items()
        for field, values in fields.items()
    ]
    if not results or None in results or not all(condition.values()):
        return None
    return all(results)


def names_branch(condition: Condition) -> bool:
    """Returns whether a condition compares the branch that an action changes."""
    return any(BRANCH in fields for fields in condition.values())


def check_value(operator: str, value: str) -> None:
    """Raises ValueError if a field can never be compared with a value."""
    if operator in {"IpAddress", "NotIpAddress"}:
        _network(value)
    elif operator in {"DateGreaterThan", "DateLessThan"}:
        _timestamp(value)


def _compare(
    operator: str, field: str, values: tuple[str, ...], context: RequestContext
) -> bool | None:
    if not values:
        return None
    try:
        if operator in {"IpAddress", "NotIpAddress"}:
            return _compare_address(operator, field, values, context)
        if operator in {"DateGreaterThan", "DateLessThan"}:
            return _compare_time(operator, field, values, context)
    except ValueError:
        return None
    return _compare_text(operator, _text(field, context), values)


def _compare_address(
    operator: str, field: str, values: tuple[str, ...], context: RequestContext
) -> bool | None:
    if field != SOURCE_IP or context.source_ip is None:
        return None
    address = _address(context.source_ip)
    # all values are parsed, so that a malformed one is noticed wherever it stands
    networks = [_network(value) for value in values]
    inside = any(address in network for network in networks)
    return inside is (operator == "IpAddress")


def _compare_time(
    operator: str, field: str, values: tuple[str, ...], context: RequestContext
) -> bool | None:
    now = context.time
    if field != CURRENT_TIME or now is None:
        return None
    times = [_timestamp(value) for value in values]
    if operator == "DateGreaterThan":
        return any(now > time for time in times)
    return any(now < time for time in times)


def _compare_text(operator: str, text: str | None, values: tuple[str, ...]) -> bool | None:
    if text is None:
        return None
    if operator in {"StringEquals", "StringNotEquals"}:
        return (text in values) is (operator == "StringEquals")
    if operator in {"StringLike", "StringNotLike"}:
        matched = any(name_pattern(value).fullmatch(text) is not None for value in values)
        return matched is (operator == "StringLike")
    return None


def _text(field: str, context: RequestContext) -> str | None:
    if field == SOURCE_IP:
        return context.source_ip
    if field == BRANCH:
        return context.branch
    return context.username if field == USERNAME else None


@lru_cache(maxsize=1024)
def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


@lru_cache(maxsize=1024)
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(text, strict=False)


@lru_cache(maxsize=1024)
def _timestamp(text: str) -> float:
    """Returns the time of a date in RFC 3339, in seconds since 1970; without a zone, in UTC."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
