"""The rows of a table that differ between two versions of it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from anabranch.model.page import Page

__all__ = ["MatchedBy", "RowDifference", "RowDifferencePage"]

MatchedBy = Literal["given", "found", "whole_rows"]
"""How rows of both sides are matched: by the key that was given, by one that was found, or by all
their columns.
"""


class RowDifference(msgspec.Struct, frozen=True):
    """A row that differs: the columns of its key, the row of each side, None if it has none, and
    the names of the columns that differ if both have one. All values are JSON values. `count` is
    how many equal rows one side has more than the other: 1 for rows with a key.
    """

    kind: Literal["added", "removed", "changed"]
    key: dict[str, Any]
    left: dict[str, Any] | None
    right: dict[str, Any] | None
    columns: list[str]
    count: int

    def cells(self) -> dict[str, Any]:
        """Returns what a table of differences shows: the key, else the row, and of a row that both
        sides have, the values that differ.
        """
        if self.left is not None and self.right is not None:
            values = {
                name: f"{self.left.get(name)} → {self.right.get(name)}" for name in self.columns
            }
        else:
            values = self.left or self.right or {}
        return {"": self.kind, **self.key, **values}


class RowDifferencePage(Page[RowDifference], frozen=True, kw_only=True):
    """A page of rows that differ, with the key by which rows of both sides are matched: empty if
    whole rows are compared. `notes` are sentences about how each side was read, `left` and `right`:
    its encoding, and what was repaired.
    """

    key: list[str]
    matched_by: MatchedBy
    notes: dict[str, list[str]] = msgspec.field(default_factory=dict)
