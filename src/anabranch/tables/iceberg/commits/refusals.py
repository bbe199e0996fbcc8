"""The errors of requests that metadata refuse."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from anabranch.errors import Conflict, Invalid

__all__ = ["INVALID_METADATA", "TABLE_CHANGED", "changed_meanwhile", "checked", "refused"]

INVALID_METADATA = "invalid_table_metadata"
TABLE_CHANGED = "table_changed"
"""The kinds of the errors."""

T = TypeVar("T")


def refused(reason: str, hint: str | None = None) -> Invalid:
    """Returns the error for a request or metadata that are wrong, whatever the table's state."""
    return Invalid(reason, kind=INVALID_METADATA, hint=hint)


def changed_meanwhile(reason: str) -> Conflict:
    """Returns the error for a request that was made for an earlier state of the table: its client
    reads the table again and repeats it.
    """
    return Conflict(reason, kind=TABLE_CHANGED)


def checked(value: Any, shape: type[T], what: str) -> T:
    """Returns a value of JSON as a structure. Raises Invalid, with the name of `what` it is, for
    one of another form.
    """
    try:
        return msgspec.convert(value, shape)
    except (msgspec.ValidationError, RecursionError) as error:
        raise refused(f"{what}: {error}") from error
