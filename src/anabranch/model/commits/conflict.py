"""Conflicts of merges, choices for them, and what a merge would do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from anabranch.model.objects.stat import Stat

__all__ = [
    "ConflictKind",
    "ContentConflict",
    "MergePreview",
    "OpenConflict",
    "Resolution",
    "Settled",
]

Resolution = Mapping[str, Any]
"""A choice for the conflicts of some paths, as a client sends it: `path`, a path or a pattern, and
either `strategy` with its options, or `physical_address`.
"""

ConflictKind = Literal["both_changed", "changed_deleted", "deleted_changed", "added_twice"]
"""What source and destination did, in this order."""


class ContentConflict(msgspec.Struct, frozen=True, kw_only=True):
    """A part of an object that both sides changed differently, such as a cell of a table.

    `key` names the part: the key columns of a row, `{"line": 12}` of a text (the first line in the
    base, from 1), `{"pointer": "/a/b"}` of a JSON document, `{"version": 7}` of a table's log.
    `column` is the column of a row, "" if the conflict concerns the row as a whole: one side
    changed it and the other removed it. The values are JSON values, None where a side has none;
    `message` says what is wrong if the values alone do not.
    """

    key: dict[str, Any]
    column: str = ""
    base: Any = None
    source: Any = None
    destination: Any = None
    message: str = ""


class OpenConflict(msgspec.Struct, frozen=True):
    """A conflict that nothing has settled: the objects in the three trees, the strategy that could
    not settle it, if any, why, and the parts of the content that conflict.
    """

    path: str
    kind: ConflictKind
    base: Stat | None = None
    source: Stat | None = None
    destination: Stat | None = None
    strategy: str = ""
    reason: str = ""
    details: tuple[ContentConflict, ...] = ()


class Settled(NamedTuple):
    """A path whose conflict was settled, and by which strategy."""

    path: str
    strategy: str


class MergePreview(NamedTuple):
    """What a merge would do: how many paths it would add, change and remove, conflicts apart; the
    conflicts that its rules settle, and the first of those that stay open, and their number.
    """

    added: int
    changed: int
    removed: int
    settled: Sequence[Settled]
    conflicts: Sequence[OpenConflict]
    conflict_count: int
