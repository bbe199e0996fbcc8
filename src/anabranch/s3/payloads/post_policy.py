"""The policy of a form upload: its expiration, and the conditions on the form's fields.

    {"expiration": "2026-11-22T12:00:00Z",
     "conditions": [{"bucket": "sea"}, ["starts-with", "$key", "main/in/"],
                    ["eq", "$acl", "private"], ["content-length-range", 0, 1000000]]}

Every field must have a condition, except those of the signature and `x-ignore-…`, so that the user
of a form can only send fields that its author allowed.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from anabranch.s3.protocol.errors import S3Error

__all__ = ["SizeRange", "check_policy"]

_UNCONDITIONAL = frozenset({"policy", "x-amz-signature", "signature", "awsaccesskeyid"})
_IGNORED = "x-ignore-"
_RANGE = "content-length-range"
_CONDITION_LENGTH = 3  # items of a condition that is a list


class SizeRange(NamedTuple):
    """The minimum and maximum size of a file in bytes; None for no maximum."""

    minimum: int = 0
    maximum: int | None = None

    def limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yields the pieces of a file. Raises S3Error: EntityTooLarge as soon as the maximum is
        exceeded, EntityTooSmall.
        """
        size = 0
        for piece in pieces:
            size += len(piece)
            if self.maximum is not None and size > self.maximum:
                raise S3Error("EntityTooLarge", MaxSizeAllowed=str(self.maximum))
            yield piece
        if size < self.minimum:
            raise S3Error(
                "EntityTooSmall", ProposedSize=str(size), MinSizeAllowed=str(self.minimum)
            )


def check_policy(text: str, fields: Mapping[str, str], bucket: str, now: float) -> SizeRange:
    """Checks a form against its policy and returns the file sizes that the policy allows. `text` is
    the base64 in the form, `fields` have lower-case names, `now` is in seconds since 1970.

    Raises S3Error: InvalidPolicyDocument, and AccessDenied with the condition that is not met.
    """
    policy = _parse_document(text)
    if now >= _parse_expiration(policy):
        raise _denial("Policy expired.")
    conditions = policy.get("conditions")
    if not isinstance(conditions, list):
        raise _invalid("Policy missing conditions.")
    values = {**fields, "bucket": bucket}
    unchecked = {
        name for name in values if name not in _UNCONDITIONAL and not name.startswith(_IGNORED)
    }
    sizes = SizeRange()
    for condition in conditions:
        operator, name, value = _parse_condition(condition)
        if operator == _RANGE:
            sizes = _narrow(sizes, name, value)
            continue
        unchecked.discard(name)
        if name not in values or not _holds(operator, name, value, values[name]):
            condition_text = json.dumps([operator, f"${name}", value], ensure_ascii=False)
            raise _denial(f"Policy Condition failed: {condition_text}")
    if unchecked:
        raise _denial(f"Extra input fields: {', '.join(sorted(unchecked))}")
    return sizes


def _parse_document(text: str) -> dict[str, Any]:
    try:
        policy = json.loads(base64.b64decode("".join(text.split()), validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise _invalid("Invalid JSON.") from None
    if not isinstance(policy, dict):
        raise _invalid("Invalid JSON.")
    return policy


def _parse_expiration(policy: Mapping[str, Any]) -> float:
    text = policy.get("expiration")
    if text is None:
        raise _invalid("Policy missing expiration.")
    if isinstance(text, str) and "T" in text:
        with suppress(ValueError, OverflowError):
            time = datetime.fromisoformat(text)
            return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    raise _invalid(f"Invalid 'expiration' value: '{text}'")


def _parse_condition(condition: Any) -> tuple[str, Any, Any]:
    """Returns the operator, the field and the value of a condition."""
    if isinstance(condition, dict):
        if len(condition) != 1:
            raise _invalid(
                "Invalid Simple-Condition: Simple-Conditions must have exactly one property "
                "specified."
            )
        ((name, value),) = condition.items()
        return "eq", name.lower(), _require_string(value)
    if not isinstance(condition, list) or len(condition) != _CONDITION_LENGTH:
        raise _invalid("Invalid Condition: a condition is an object or a list of three.")
    operator, name, value = condition
    operator = _require_string(operator).lower()
    if operator == _RANGE:
        return operator, name, value
    if operator not in {"eq", "starts-with"}:
        raise _invalid(f"Invalid Condition: unknown operation '{operator}'.")
    name = _require_string(name)
    if not name.startswith("$"):
        raise _invalid(f"Invalid Condition: the field '{name}' must begin with '$'.")
    return operator, name[1:].lower(), _require_string(value)


def _holds(operator: str, name: str, value: str, actual: str) -> bool:
    if operator == "eq":
        return actual == value
    if name != "content-type":
        return actual.startswith(value)
    # each of several content types must have the prefix
    return all(part.strip().startswith(value) for part in actual.split(","))


def _narrow(sizes: SizeRange, minimum: Any, maximum: Any) -> SizeRange:
    try:
        low, high = int(minimum), int(maximum)
    except (TypeError, ValueError, OverflowError):
        low, high = -1, -1
    if not 0 <= low <= high:
        raise _invalid(f"Invalid {_RANGE}: it needs a minimum and a maximum number of bytes")
    return SizeRange(
        max(sizes.minimum, low), high if sizes.maximum is None else min(sizes.maximum, high)
    )


def _require_string(value: Any) -> str:
    if not isinstance(value, str):
        raise _invalid("Invalid Simple-Condition: value must be a string.")
    return value


def _invalid(reason: str) -> S3Error:
    return S3Error("InvalidPolicyDocument", f"Invalid Policy: {reason}")


def _denial(reason: str) -> S3Error:
    return S3Error("AccessDenied", f"Invalid according to Policy: {reason}")
