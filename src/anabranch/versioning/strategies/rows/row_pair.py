"""A row of two versions of a table."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["RowPair"]


class RowPair(msgspec.Struct, frozen=True):
    """A row that differs: the values of its key, the two rows as JSON values, the columns that
    differ if there are both, and the position of the row among all: its key as text. `count` is
    how many equal rows one side has more than the other: 1 for rows with a key.
    """

    key: dict[str, Any]
    left: dict[str, Any] | None
    right: dict[str, Any] | None
    columns: list[str]
    position: list[str]
    count: int = 1
