"""Pages of the rows of a table that both sides of a merge changed differently."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from anabranch.errors import Denied, Invalid, NotFound
from anabranch.files.work_folders import WorkFolder
from anabranch.model.commits.row_conflict import RowConflictPage
from anabranch.versioning.merging.conflict_view import ConflictView
from anabranch.versioning.merging.conflicts import Conflict, MergeTrees
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.rules import Rule, Versions, require_versions
from anabranch.versioning.strategies.table_processes.comparisons import comparison_errors
from anabranch.versioning.strategies.table_processes.process_strategy import list_row_conflicts
from anabranch.versioning.strategies.table_processes.table_processes import TableProcesses

__all__ = ["RowListing", "list_rows"]


class RowListing(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of the rows in conflict is wanted. `key` are the columns that identify a row, or
    one is found; `file_format` is the format of the file if neither its path nor its content tells
    it; `after` is the `next_offset` of the page before.
    """

    key: Sequence[str] = ()
    file_format: str = ""
    after: str = ""
    amount: int


class _Offset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a page ends: how many rows were listed, of which versions, and by which key."""

    row: int
    key: list[str]
    versions: dict[str, str | None]


_OFFSETS = msgspec.json.Decoder(_Offset)


def list_rows(
    processes: TableProcesses,
    trees: MergeTrees,
    path: str,
    listing: RowListing,
    rights: ContentRights,
) -> RowConflictPage:
    """Returns a page of the rows in conflict of a table. All pages are of the same versions.

    Raises Denied without the right to read the object; NotFound (kind conflict_not_found) for a
    path that is not in conflict; Invalid for what is no table that can be merged, with the kinds
    of `compare_files`, and for a wrong key, format or `after`; Conflict (kind outdated_choices) if
    a side has changed since the page before.
    """
    if not rights.may_read(path):
        raise Denied(
            "you may not read the object",
            kind="insufficient_permissions",
            hint="Ask for the permission fs:ReadObject on its path.",
        )
    versions = trees.versions(_conflict(trees, path))
    start, key = 0, list(listing.key)
    if listing.after:
        offset = _offset(listing.after, key)
        require_versions(path, offset.versions, versions)
        start, key = offset.row, offset.key
    options: dict[str, Any] = {"key": key} if key else {}
    if listing.file_format:
        options["format"] = listing.file_format
    Rule.of("**", "rows", options)  # the options are checked, and what is installed
    with WorkFolder("rows") as folder, comparison_errors():
        view = ConflictView(trees, path, Path(folder), rights)
        page = list_row_conflicts(processes, view, options, start=start, amount=listing.amount)
    return msgspec.structs.replace(
        page,
        versions=versions,
        next_offset=_next(page, versions) if page.has_more else "",
    )


def _conflict(trees: MergeTrees, path: str) -> Conflict:
    found, _ = trees.conflicts(prefix=path, amount=1)
    if not found or found[0].path != path:
        raise NotFound(
            f"{path!r} is not in conflict",
            kind="conflict_not_found",
            hint="List the conflicts of the merge.",
        )
    return found[0]


def _next(page: RowConflictPage, versions: Versions) -> str:
    offset = _Offset(int(page.next_offset), page.key, dict(versions))
    return msgspec.json.encode(offset).decode()


def _offset(text: str, key: Sequence[str]) -> _Offset:
    """Returns where the page before ended. Raises Invalid if it is of another listing."""
    try:
        found = _OFFSETS.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        found = None
    if found is None or found.row < 0 or (key and found.key != list(dict.fromkeys(key))):
        raise Invalid(
            "argument after: is not the next_offset of a page",
            kind="invalid_after",
            hint="Send the next_offset of the page before, with the same key.",
        )
    return found
