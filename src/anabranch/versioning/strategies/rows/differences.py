"""The differences between two versions of a table, row by row, in the order of their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from anabranch.errors import Invalid
from anabranch.model.page import Page
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.column_comparison import ColumnComparison
from anabranch.versioning.strategies.rows.database import open_database, require_libraries
from anabranch.versioning.strategies.rows.formats import format_of
from anabranch.versioning.strategies.rows.json_lines_comparison import JsonLinesComparison
from anabranch.versioning.strategies.rows.json_lines_table import JsonLinesTable
from anabranch.versioning.strategies.rows.row_pair import RowPair
from anabranch.versioning.strategies.rows.tables import create_empty, load_tables

__all__ = ["MAX_PAGE_BYTES", "RowDifference", "row_differences"]

_KEY_DECODER = msgspec.json.Decoder(list[str])

MAX_PAGE_BYTES = 16 << 20
"""A page ends with the row that exceeds this size as JSON."""


class RowDifference(msgspec.Struct, frozen=True):
    """A row that differs: the columns of its key, the row of each side, None if it has none, and
    the names of the columns that differ if both have one. All values are JSON values.
    """

    kind: Literal["added", "removed", "changed"]
    key: dict[str, Any]
    left: dict[str, Any] | None
    right: dict[str, Any] | None
    columns: list[str]


def row_differences(
    path: str,
    left: ObjectVersion | None,
    right: ObjectVersion | None,
    *,
    key: Sequence[str] = (),
    file_format: str = "",
    after: str = "",
    amount: int,
    folder: str,
) -> Page[RowDifference]:
    """Returns a page of the rows that differ from `left` to `right`; a version that is None is a
    table without rows. `key` are the columns that identify a row, detected if empty; `file_format`
    is the format if the extension of `path` does not tell it; `after` is the `next_offset` of the
    page before. `folder` is for temporary files.

    Raises Conflict (kind merge_failed) for what is no table, and without a unique key; Invalid for
    a wrong `file_format` or `after`; NotSupported without DuckDB and pyarrow.
    """
    table_format = format_of(path, file_format)
    require_libraries("a comparison of rows")
    versions = {"left": left, "right": right}
    present = {side: version for side, version in versions.items() if version is not None}
    if not present:
        return Page([])
    with open_database(folder) as connection:
        tables = load_tables(connection, table_format, present, key)
        start = _key_after(after, len(tables.key)) if after else None
        for side in versions.keys() - present.keys():
            (other,) = present
            create_empty(connection, side, like=other)
            tables.columns[side] = tables.columns[other]
        rows: Iterator[RowPair]
        if isinstance(table_format, JsonLinesTable):
            rows = JsonLinesComparison(connection, tables.key).rows(start)
        else:
            comparison = ColumnComparison(connection, tables.key, tables.columns)
            rows = comparison.rows(start, amount + 1)
        return _page(rows, amount)


def _page(rows: Iterator[RowPair], amount: int) -> Page[RowDifference]:
    items: list[RowDifference] = []
    size = 0
    last = ""
    for row in rows:
        if len(items) == amount or size > MAX_PAGE_BYTES:
            return Page(items, has_more=True, next_offset=last)
        difference = _difference(row)
        items.append(difference)
        size += len(msgspec.json.encode(difference))
        last = msgspec.json.encode(row.position).decode()
    return Page(items)


def _difference(row: RowPair) -> RowDifference:
    kind: Literal["added", "removed", "changed"] = "changed"
    if row.left is None:
        kind = "added"
    elif row.right is None:
        kind = "removed"
    return RowDifference(kind, row.key, row.left, row.right, row.columns)


def _key_after(text: str, length: int) -> list[str]:
    try:
        found = _KEY_DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        found = []
    if len(found) != length:
        raise Invalid(
            "argument after: is not the next_offset of a page",
            kind="invalid_after",
            hint="Send the next_offset of the page before, with the same key.",
        )
    return found
