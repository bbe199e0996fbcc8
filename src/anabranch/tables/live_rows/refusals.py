"""The error for tables of Delta Lake and Iceberg that cannot be read exactly."""

from __future__ import annotations

from anabranch.errors import Invalid

__all__ = ["UNREADABLE", "unreadable"]

UNREADABLE = "unreadable_table"
"""The kind of the error."""


def unreadable(reason: str, hint: str = "") -> Invalid:
    """Returns the error for a table that cannot be read, with the reason."""
    return Invalid(reason, kind=UNREADABLE, hint=hint)
