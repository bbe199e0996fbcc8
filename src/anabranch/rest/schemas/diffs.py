"""Schemas of differences."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from anabranch.model.commits.change import Change, ChangeKind
from anabranch.model.objects.entry import Entry
from anabranch.model.page import Page
from anabranch.rest.schemas.pagination import Pagination, to_pagination

__all__ = ["Diff", "DiffList", "DiffObjectStat", "IncludeSides", "diff_list", "uncommitted_list"]

PathType = Literal["common_prefix", "object"]
IncludeSides = Annotated[bool, Meta(description="add the objects on both sides")]


class DiffObjectStat(msgspec.Struct, frozen=True):
    """Properties of an object on the right side of a difference; on the left side for a removed
    object, as in lakeFS. `mtime` in seconds since 1970.
    """

    checksum: str
    content_type: str
    mtime: int
    metadata: dict[str, str]


class DiffSide(msgspec.Struct, frozen=True):
    """An object on one side of a difference; `mtime` in seconds since 1970."""

    checksum: str
    content_type: str
    mtime: int
    metadata: dict[str, str]
    size_bytes: int


class DiffSides(msgspec.Struct, frozen=True):
    """The objects on both sides of a difference, null where a side has none."""

    left: DiffSide | None
    right: DiffSide | None


class Diff(msgspec.Struct, frozen=True):
    """Difference of one path. `size_bytes` is that on the right side, on the left if removed."""

    path: str
    path_type: PathType
    type: ChangeKind
    right: DiffObjectStat | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    sides: DiffSides | UnsetType = UNSET


class DiffList(msgspec.Struct, frozen=True):
    """A page of differences."""

    pagination: Pagination
    results: list[Diff]


def diff_list(
    page: Page[Change], *, include_right_stats: bool = False, include_sides: bool = False
) -> DiffList:
    """Returns the schema of a page of changes between two references."""
    results = [
        _diff(change, include_right_stats=include_right_stats, include_sides=include_sides)
        for change in page.items
    ]
    return DiffList(pagination=to_pagination(page), results=results)


def uncommitted_list(page: Page[Change], *, include_sides: bool = False) -> DiffList:
    """Returns the schema of a page of uncommitted changes. As in lakeFS, removed objects have size
    0.
    """
    results = [_diff(change, include_sides=include_sides) for change in page.items]
    return DiffList(
        pagination=to_pagination(page),
        results=[
            msgspec.structs.replace(row, size_bytes=0) if row.type == "removed" else row
            for row in results
        ],
    )


def _diff(
    change: Change, *, include_right_stats: bool = False, include_sides: bool = False
) -> Diff:
    if change.kind == "prefix_changed":
        return Diff(path=change.path, path_type="common_prefix", type=change.kind)
    sized = change.right or change.left
    right: DiffObjectStat | UnsetType = UNSET
    if include_right_stats and sized is not None:
        right = DiffObjectStat(
            checksum=sized.checksum,
            content_type=sized.content_type,
            mtime=sized.mtime,
            metadata=sized.metadata,
        )
    return Diff(
        path=change.path,
        path_type="object",
        type=change.kind,
        right=right,
        size_bytes=UNSET if sized is None else sized.size,
        sides=DiffSides(_side(change.left), _side(change.right)) if include_sides else UNSET,
    )


def _side(entry: Entry | None) -> DiffSide | None:
    if entry is None:
        return None
    return DiffSide(entry.checksum, entry.content_type, entry.mtime, entry.metadata, entry.size)
