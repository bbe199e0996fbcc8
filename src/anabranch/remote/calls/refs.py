"""Calls of two references: differences and merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from anabranch.model.commits.change import Change
from anabranch.model.commits.conflict import MergePreview, OpenConflict, Resolution, Settled
from anabranch.model.commits.row_conflict import RowConflict, RowConflictPage
from anabranch.model.commits.row_difference import MatchedBy, RowDifference, RowDifferencePage
from anabranch.model.page import MAX_AMOUNT, Page
from anabranch.remote.call import (
    Call,
    Exchange,
    Listing,
    Pagination,
    Reply,
    WirePage,
    change,
    read,
    require_amount,
)
from anabranch.remote.calls.results import change_page, refuse_committer
from anabranch.remote.wire import WireConflict

__all__ = [
    "diff",
    "diff_rows",
    "merge",
    "merge_base",
    "merge_conflicts",
    "preview_merge",
    "row_conflicts",
]


class _Rows(msgspec.Struct, frozen=True):
    pagination: Pagination
    results: list[RowDifference]
    key: list[str]
    matched_by: MatchedBy
    notes: dict[str, list[str]] = msgspec.field(default_factory=dict)


class _RowConflicts(msgspec.Struct, frozen=True):
    pagination: Pagination
    results: list[RowConflict]
    key: list[str]
    versions: dict[str, str | None]


class _Merge(msgspec.Struct, frozen=True):
    reference: str


class _Summary(msgspec.Struct, frozen=True):
    added: int
    changed: int
    removed: int


class _Settled(msgspec.Struct, frozen=True):
    path: str
    strategy: str


class _DryRun(msgspec.Struct, frozen=True):
    summary: _Summary
    settled: list[_Settled]
    conflicts: list[WireConflict]
    conflict_count: int


class _MergeBase(msgspec.Struct, frozen=True):
    base_commit_id: str
    destination_commit_id: str
    source_commit_id: str


_ROWS = msgspec.json.Decoder(_Rows)
_ROW_CONFLICTS = msgspec.json.Decoder(_RowConflicts)
_MERGE = msgspec.json.Decoder(_Merge)
_DRY_RUN = msgspec.json.Decoder(_DryRun)
_MERGE_BASE = msgspec.json.Decoder(_MergeBase)
_CONFLICTS = msgspec.json.Decoder(WirePage[WireConflict])


def diff(
    repository: str,
    left: str,
    right: str,
    *,
    two_dot: bool = False,
    prefix: str = "",
    after: str = "",
    delimiter: str = "",
    amount: int,
) -> Call[Page[Change]]:
    """Returns a page of the changes that merging `right` into `left` would make; with `two_dot`, of
    the differences of both trees. `right` may be `branch$`, which includes the staged changes of
    the branch.
    """
    request = read(
        ["repositories", repository, "refs", left, "diff", right],
        type="two_dot" if two_dot else None,
        prefix=prefix,
        after=after,
        delimiter=delimiter,
        include_sides=True,
    )
    return Listing(request, change_page, amount)


def diff_rows(
    repository: str,
    left: str,
    right: str,
    path: str,
    *,
    two_dot: bool = False,
    key: Sequence[str] = (),
    whole_rows: bool = False,
    file_format: str = "",
    after: str = "",
    amount: int,
) -> Call[RowDifferencePage]:
    """Returns a page of the rows of a table that differ; it may be shorter than `amount`. Raises
    NotFound if neither side has the object or table, Invalid for what is no table.
    """
    request = read(
        ["repositories", repository, "refs", left, "diff", right, "rows"],
        path=path,
        type="two_dot" if two_dot else None,
        key=tuple(key),
        whole_rows=whole_rows,
        format=file_format,
        after=after,
        amount=min(require_amount(amount), MAX_AMOUNT),
    )
    return Exchange(request, _rows)


def merge(
    repository: str,
    source: str,
    destination: str,
    *,
    committer: str | None = None,
    message: str = "",
    metadata: Mapping[str, str] | None = None,
    strategy: str = "",
    resolutions: Sequence[Resolution] = (),
    squash: bool = False,
    allow_empty: bool = False,
    force: bool = False,
) -> Call[str]:
    """Merges a reference into a branch; returns the id of the new commit. Raises MergeConflict with
    the paths that both sides changed, DirtyBranch, ProtectedBranch, NotSupported for a `committer`.
    """
    refuse_committer(committer)
    body = {
        "message": message,
        "metadata": dict(metadata or {}),
        "strategy": strategy,
        "resolutions": resolutions,
        "squash_merge": squash,
        "allow_empty": allow_empty,
        "force": force,
    }
    return Exchange(change("POST", _sides(repository, source, destination), body), _merged, True)


def preview_merge(
    repository: str,
    source: str,
    destination: str,
    *,
    strategy: str = "",
    resolutions: Sequence[Resolution] = (),
) -> Call[MergePreview]:
    """Returns what merging a reference into a branch would do."""
    body = {"strategy": strategy, "resolutions": resolutions, "dry_run": True}
    sides = _sides(repository, source, destination)
    return Exchange(change("POST", sides, body, repeatable=True), _preview)


def merge_conflicts(
    repository: str,
    source: str,
    destination: str,
    *,
    prefix: str = "",
    after: str = "",
    amount: int,
) -> Call[Page[OpenConflict]]:
    """Returns a page of the paths that both sides changed since their merge base."""
    sides = _sides(repository, source, destination)
    return Listing(read([*sides, "conflicts"], prefix=prefix, after=after), _conflicts, amount)


def row_conflicts(
    repository: str,
    source: str,
    destination: str,
    path: str,
    *,
    key: Sequence[str] = (),
    file_format: str = "",
    after: str = "",
    amount: int,
) -> Call[RowConflictPage]:
    """Returns a page of the rows of a table that both sides changed since their merge base; it may
    be shorter than `amount`. Raises NotFound for a path that is not in conflict, Invalid for what
    is no table.
    """
    request = read(
        [*_sides(repository, source, destination), "conflicts", "rows"],
        path=path,
        key=tuple(key),
        format=file_format,
        after=after,
        amount=min(require_amount(amount), MAX_AMOUNT),
    )
    return Exchange(request, _row_conflicts)


def merge_base(repository: str, source: str, destination: str) -> Call[tuple[str, str, str]]:
    """Returns the ids of the source's commit, the destination's, and their merge base."""
    return Exchange(read(_sides(repository, source, destination)), _base)


def _sides(repository: str, source: str, destination: str) -> list[str]:
    return ["repositories", repository, "refs", source, "merge", destination]


def _rows(reply: Reply) -> RowDifferencePage:
    page = _ROWS.decode(reply.body)
    return RowDifferencePage(
        page.results,
        page.pagination.has_more,
        page.pagination.next_offset,
        key=page.key,
        matched_by=page.matched_by,
        notes=page.notes,
    )


def _row_conflicts(reply: Reply) -> RowConflictPage:
    page = _ROW_CONFLICTS.decode(reply.body)
    return RowConflictPage(
        page.results,
        page.pagination.has_more,
        page.pagination.next_offset,
        key=page.key,
        versions=page.versions,
    )


def _merged(reply: Reply) -> str:
    return _MERGE.decode(reply.body).reference


def _preview(reply: Reply) -> MergePreview:
    run = _DRY_RUN.decode(reply.body)
    return MergePreview(
        *(run.summary.added, run.summary.changed, run.summary.removed),
        [Settled(each.path, each.strategy) for each in run.settled],
        [each.conflict() for each in run.conflicts],
        run.conflict_count,
    )


def _conflicts(body: bytes) -> tuple[list[OpenConflict], Pagination]:
    page = _CONFLICTS.decode(body)
    return [each.conflict() for each in page.results], page.pagination


def _base(reply: Reply) -> tuple[str, str, str]:
    found = _MERGE_BASE.decode(reply.body)
    # as in lakeFS, the names of the two sides are swapped
    return found.destination_commit_id, found.source_commit_id, found.base_commit_id
