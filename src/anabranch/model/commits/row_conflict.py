"""The rows of a table that both sides of a merge changed differently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.model.commits.conflict import ConflictKind
from anabranch.model.page import Page

__all__ = ["RowConflict", "RowConflictPage"]


class RowConflict(msgspec.Struct, frozen=True, kw_only=True):
    """A row in conflict: the columns of its key, what both sides did, the columns whose cells
    conflict (none if one side removed the row), and the three rows, None where there is none. All
    values are JSON values.
    """

    key: dict[str, Any]
    kind: ConflictKind
    columns: list[str]
    base: dict[str, Any] | None
    source: dict[str, Any] | None
    destination: dict[str, Any] | None


class RowConflictPage(Page[RowConflict], frozen=True, kw_only=True):
    """A page of the rows in conflict, in the order of the destination's file, then of the source's,
    with the columns that identify a row. `versions` tell which versions of the object they are of,
    by side: choices name them.
    """

    key: list[str]
    versions: Mapping[str, str | None] = {}
