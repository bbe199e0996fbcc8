"""Schemas of the conflicts of merges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.errors import MergeConflict
from anabranch.model.commits.conflict import ConflictKind, OpenConflict
from anabranch.model.objects.stat import Stat
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.unreadable_conflicts import hide_unreadable
from anabranch.rest.schemas.object_stats import ObjectStats, object_stats
from anabranch.rest.schemas.pagination import Pagination
from anabranch.versioning.strategies.contract import ContentConflict

__all__ = [
    "ConflictEntry",
    "ConflictList",
    "MergeConflictResult",
    "Resolutions",
    "conflict_entry",
    "described_conflicts",
]

MAX_RESOLUTIONS = 10_000

Resolutions = Annotated[
    list[dict[str, Any]],
    Meta(
        max_length=MAX_RESOLUTIONS,
        description="choices for conflicts, the first match counts: `path` (or a pattern) and "
        "either `strategy` with its options, or `physical_address`",
    ),
]


class ConflictEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A path that source and destination changed differently, and the objects there; null where
    there is none. If a strategy could not settle it: its name, the reason, and the parts of the
    content that conflict.
    """

    path: str
    kind: ConflictKind
    base: ObjectStats | None
    source: ObjectStats | None
    destination: ObjectStats | None
    strategy: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    details: list[ContentConflict] | UnsetType = UNSET


class ConflictList(msgspec.Struct, frozen=True):
    """A page of conflicts."""

    pagination: Pagination
    results: list[ConflictEntry]


class MergeConflictResult(msgspec.Struct, frozen=True):
    """A failed merge: lakeFS's MergeResult without a reference, and the first conflicts: up to 100
    paths, or 1,000 entries if the merge has rules for single paths. If it `has_more`, they are not
    counted, and `conflict_count` is missing: a dry run counts them, listMergeConflicts lists them.
    `commit_id` is the commit whose changes conflict, if several are applied.
    """

    conflicts: list[str | ConflictEntry]
    has_more: bool
    message: str
    conflict_count: int | UnsetType = UNSET
    reference: str = ""
    commit_id: str | UnsetType = UNSET


def conflict_entry(conflict: OpenConflict) -> ConflictEntry:
    """Returns the schema of a conflict."""
    return ConflictEntry(
        path=conflict.path,
        kind=conflict.kind,
        base=_stats(conflict.base),
        source=_stats(conflict.source),
        destination=_stats(conflict.destination),
        strategy=conflict.strategy or UNSET,
        reason=conflict.reason or UNSET,
        details=list(conflict.details) or UNSET,
    )


def _stats(stat: Stat | None) -> ObjectStats | None:
    return None if stat is None else object_stats(stat)


@contextmanager
def described_conflicts(call: Call[Any, Any]) -> Iterator[None]:
    """Gives the conflicts of a MergeConflict that leaves the context their schema, without those
    that the caller may not read.
    """
    try:
        yield
    except MergeConflict as error:
        hide_unreadable(error, call)
        error.conflicts = tuple(conflict_entry(conflict) for conflict in error.conflicts)
        raise
