"""The error for tables of Delta Lake and Iceberg that cannot be read exactly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.errors import Invalid

__all__ = ["UNREADABLE", "damage_refused", "unreadable"]

UNREADABLE = "unreadable_table"
"""The kind of the error."""

_OF_DAMAGE = (
    *(LookupError, TypeError, ValueError, AttributeError, StopIteration),
    *(OverflowError, RecursionError),
)


def unreadable(reason: str, hint: str = "") -> Invalid:
    """Returns the error for a table that cannot be read, with the reason."""
    return Invalid(reason, kind=UNREADABLE, hint=hint)


@contextmanager
def damage_refused() -> Iterator[None]:
    """Raises Invalid for what metadata of an unexpected form make Python raise."""
    try:
        yield
    except _OF_DAMAGE as error:
        raise unreadable(f"the table's metadata cannot be read: {error!r}") from error
