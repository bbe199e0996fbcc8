"""The policy of an upload by a form: until when, and under what conditions it may be made.

    {"expiration": "2026-11-22T12:00:00Z",
     "conditions": [{"bucket": "sea"}, ["starts-with", "$key", "main/in/"],
                    ["eq", "$acl", "private"], ["content-length-range", 0, 1000000]]}

Every field must have a condition, but for those of the signature and `x-ignore-…`: whoever has the
form may fill in only what its author foresaw.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from anabranch.s3.errors import S3Error

__all__ = ["SizeRange", "check_policy"]

_UNCONDITIONAL = frozenset({"policy", "x-amz-signature", "signature", "awsaccesskeyid"})
_IGNORED = "x-ignore-"
_RANGE = "content-length-range"
_LIST = 3  # what a condition that is a list has


class SizeRange(NamedTuple):
    """How many bytes a file may have, at least and at most; None for no limit."""

    least: int = 0
    most: int | None = None

    def limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the pieces of a file. Raises S3Error: EntityTooLarge as soon as there are too many
        bytes, EntityTooSmall.
        """
        size = 0
        for piece in pieces:
            size += len(piece)
            if self.most is not None and size > self.most:
                raise S3Error("EntityTooLarge", MaxSizeAllowed=str(self.most))
            yield piece
        if size < self.least:
            raise S3Error("EntityTooSmall", ProposedSize=str(size), MinSizeAllowed=str(self.least))


def check_policy(text: str, fields: Mapping[str, str], bucket: str, now: float) -> SizeRange:
    """Returns what sizes a policy allows, given as the base64 in the form, if it allows a form with
    these fields, by their names in lower case, for a bucket at a time in seconds since 1970.

    Raises S3Error: InvalidPolicyDocument, and AccessDenied with the condition that does not hold.
    """
    policy = _document(text)
    if now >= _expiration(policy):
        raise _denied("Policy expired.")
    conditions = policy.get("conditions")
    if not isinstance(conditions, list):
        raise _invalid("Policy missing conditions.")
    given = {**fields, "bucket": bucket}
    left = {name for name in given if name not in _UNCONDITIONAL and not name.startswith(_IGNORED)}
    sizes = SizeRange()
    for condition in conditions:
        operator, name, value = _term(condition)
        if operator == _RANGE:
            sizes = _narrowed(sizes, name, value)
            continue
        left.discard(name)
        if name not in given or not _holds(operator, name, value, given[name]):
            shown = json.dumps([operator, f"${name}", value], ensure_ascii=False)
            raise _denied(f"Policy Condition failed: {shown}")
    if left:
        raise _denied(f"Extra input fields: {', '.join(sorted(left))}")
    return sizes


def _document(text: str) -> dict[str, Any]:
    try:
        policy = json.loads(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise _invalid("Invalid JSON.") from None
    if not isinstance(policy, dict):
        raise _invalid("Invalid JSON.")
    return policy


def _expiration(policy: Mapping[str, Any]) -> float:
    text = policy.get("expiration")
    if text is None:
        raise _invalid("Policy missing expiration.")
    if isinstance(text, str) and "T" in text:
        with suppress(ValueError, OverflowError):
            time = datetime.fromisoformat(text)
            return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    raise _invalid(f"Invalid 'expiration' value: '{text}'")


def _term(condition: Any) -> tuple[str, Any, Any]:
    """Returns the operator, the field and the value of a condition."""
    if isinstance(condition, dict):
        if len(condition) != 1:
            raise _invalid(
                "Invalid Simple-Condition: Simple-Conditions must have exactly one property "
                "specified."
            )
        ((name, value),) = condition.items()
        return "eq", name.lower(), _string(value)
    if not isinstance(condition, list) or len(condition) != _LIST:
        raise _invalid("Invalid Condition: a condition is an object or a list of three.")
    operator, name, value = condition
    operator = _string(operator).lower()
    if operator == _RANGE:
        return operator, name, value
    if operator not in {"eq", "starts-with"}:
        raise _invalid(f"Invalid Condition: unknown operation '{operator}'.")
    name = _string(name)
    if not name.startswith("$"):
        raise _invalid(f"Invalid Condition: the field '{name}' must begin with '$'.")
    return operator, name[1:].lower(), _string(value)


def _holds(operator: str, name: str, value: str, given: str) -> bool:
    if operator == "eq":
        return given == value
    if name != "content-type":
        return given.startswith(value)
    # of several content types each must begin so
    return all(part.strip().startswith(value) for part in given.split(","))


def _narrowed(sizes: SizeRange, least: Any, most: Any) -> SizeRange:
    try:
        low, high = int(least), int(most)
    except (TypeError, ValueError, OverflowError):
        low, high = -1, -1
    if not 0 <= low <= high:
        raise _invalid(f"Invalid {_RANGE}: two numbers of bytes, the least and the greatest")
    return SizeRange(max(sizes.least, low), high if sizes.most is None else min(sizes.most, high))


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid("Invalid Simple-Condition: value must be a string.")
    return value


def _invalid(reason: str) -> S3Error:
    return S3Error("InvalidPolicyDocument", f"Invalid Policy: {reason}")


def _denied(reason: str) -> S3Error:
    return S3Error("AccessDenied", f"Invalid according to Policy: {reason}")
