"""The errors of requests that metadata refuse."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from anabranch.converter import Converter
from anabranch.errors import Conflict, Invalid

__all__ = ["changed_meanwhile", "checked", "refused"]

T = TypeVar("T")


def refused(reason: str, hint: str | None = None) -> Invalid:
    """Returns the error for a request or metadata that are wrong, whatever the table's state."""
    return Invalid(reason, kind="invalid_table_metadata", hint=hint)


def changed_meanwhile(reason: str) -> Conflict:
    """Returns the error for a request that was made for an earlier state of the table: its client
    reads the table again and repeats it.
    """
    return Conflict(reason, kind="table_changed")


def checked(value: Any, form: Converter[T], what: str) -> T:
    """Returns a value of JSON in a form. Raises Invalid, with the name of `what` it is, for
    one of another form.
    """
    try:
        return form.convert(value)
    except (msgspec.ValidationError, RecursionError) as error:
        raise refused(f"{what}: {error}") from error
