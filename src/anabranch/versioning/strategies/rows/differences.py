"""The differences between two versions of a table, row by row, in the order of their keys.

Without a key, columns are found that identify a row; if there are none, whole rows are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from anabranch.errors import Invalid
from anabranch.model.commits.row_difference import MatchedBy, RowDifference, RowDifferencePage
from anabranch.tables.table import Table
from anabranch.tables.text.encoding import encoding_note
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.column_comparison import ColumnComparison
from anabranch.versioning.strategies.rows.compressed import unpack
from anabranch.versioning.strategies.rows.database import (
    database_errors,
    opening_database,
    require_libraries,
)
from anabranch.versioning.strategies.rows.formats import (
    compared_format,
    find_format,
    require_fit,
)
from anabranch.versioning.strategies.rows.found_key import find_key
from anabranch.versioning.strategies.rows.json_lines.comparison import JsonLinesComparison
from anabranch.versioning.strategies.rows.json_lines.table import JsonLinesTable
from anabranch.versioning.strategies.rows.loaded_sides import Sides
from anabranch.versioning.strategies.rows.merging.merged_schema import common_types
from anabranch.versioning.strategies.rows.row_key import require_unique
from anabranch.versioning.strategies.rows.row_pair import RowPair
from anabranch.versioning.strategies.rows.scanned_sides import ScannedSides
from anabranch.versioning.strategies.rows.tables import (
    EmptyTable,
    create_empty,
    decode_lines,
    load_lines,
)
from anabranch.versioning.strategies.rows.whole_rows import WholeLines, WholeRows

__all__ = [
    "MAX_PAGE_BYTES",
    "row_differences",
]

MAX_PAGE_BYTES = 16 << 20
"""A page ends with the row that exceeds this size as JSON."""


class _Offset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a page ends. It has the key, so that all pages of a listing are of the same one."""

    matched_by: MatchedBy
    key: list[str]
    position: list[str]


_MAX_DIGITS = 19
"""Row numbers have fewer digits."""

_OFFSET_DECODER = msgspec.json.Decoder(_Offset)


def row_differences(
    path: str,
    left: ObjectVersion | None,
    right: ObjectVersion | None,
    *,
    key: Sequence[str] = (),
    whole_rows: bool = False,
    file_format: str = "",
    after: str = "",
    amount: int,
    folder: str,
) -> RowDifferencePage:
    """Returns a page of the rows that differ from `left` to `right`; a version that is None is a
    table without rows. `key` are the columns that identify a row; if it is empty, a column or a set
    of columns is found, else whole rows are compared, as with `whole_rows`. `file_format` is the
    format if neither the content nor the extension of `path` tells it; `after` is the `next_offset`
    of the page before. `folder` is for temporary files.

    Raises Conflict (kind merge_failed) for what is no table, and for a `key` that is not unique;
    Invalid for a wrong `file_format` or `after`, and for a key with `whole_rows`; NotSupported
    without DuckDB and pyarrow.
    """
    named = list(dict.fromkeys(key))
    if named and whole_rows:
        raise Invalid(
            "a key and whole_rows exclude each other",
            kind="invalid_key",
            hint="Send `key` to match rows by columns, or `whole_rows` to compare whole rows.",
        )
    versions = {"left": left, "right": right}
    present = {side: version for side, version in versions.items() if version is not None}
    require_fit(path, file_format, present)
    require_libraries("a comparison of rows")
    start = _offset(after, named, whole_rows=whole_rows) if after else None
    if not present:
        return RowDifferencePage([], key=named, matched_by="given" if named else "whole_rows")
    known = start.key if start else named
    table_format, compression = find_format(path, file_format, next(iter(present.values())))
    if compression:
        present = {side: unpack(side, version, folder) for side, version in present.items()}
    table_format = compared_format(table_format, present, known)
    with database_errors(), opening_database(folder) as opening:
        if isinstance(table_format, JsonLinesTable):
            present, encodings = decode_lines(present, folder)
            notes = {side: [encoding_note(each).text] for side, each in encodings.items()}
            connection = opening.result()
            sides: Sides = load_lines(connection, table_format, present, known)
        else:
            tables: dict[str, Table] = {
                side: table_format.open(side, version, folder) for side, version in present.items()
            }
            notes = {side: [note.text for note in each.notes] for side, each in tables.items()}
            connection = opening.result()
            sides = _scan(connection, tables, table_format.name)
        if known:
            require_unique(sides, known)
        elif not whole_rows and start is None:
            known = find_key(sides)
        for side in versions.keys() - present.keys():
            (other,) = present
            if isinstance(sides, ScannedSides):
                schema = tables[other].schema
                tables[side] = EmptyTable(schema, schema.names)
                sides = _scan(connection, tables, sides.format_name)
            else:
                create_empty(connection, side, like=other)
        rows = _rows(connection, sides, known, start, amount + 1)
        matched_by: MatchedBy = "given" if named else "found" if known else "whole_rows"
        page = _page(rows, amount, known, matched_by)
        return msgspec.structs.replace(page, notes=notes)


def _scan(connection: Any, tables: Mapping[str, Table], format_name: str) -> ScannedSides:
    types = common_types({side: table.schema for side, table in tables.items()}, clashing=True)
    return ScannedSides(connection, tables, types, format_name)


def _rows(
    connection: Any, sides: Sides, key: Sequence[str], start: _Offset | None, amount: int
) -> Iterator[RowPair]:
    """Returns the rows that differ after `start`, at least `amount` if there are as many."""
    position = start.position if start else None
    if key:
        if isinstance(sides, ScannedSides):
            return ColumnComparison(connection, sides, key).rows(position, amount)
        return JsonLinesComparison(connection, key).rows(position)
    after = (int(position[0]), position[1]) if position else None
    if isinstance(sides, ScannedSides):
        return WholeRows(connection, sides).rows(after, amount)
    return WholeLines(connection).rows(after, amount)


def _page(
    rows: Iterator[RowPair], amount: int, key: list[str], matched_by: MatchedBy
) -> RowDifferencePage:
    items: list[RowDifference] = []
    size = 0
    position: list[str] = []
    for row in rows:
        if len(items) == amount or size > MAX_PAGE_BYTES:
            end = msgspec.json.encode(_Offset(matched_by, key, position)).decode()
            return RowDifferencePage(items, True, end, key=key, matched_by=matched_by)
        difference = _difference(row)
        items.append(difference)
        size += len(msgspec.json.encode(difference))
        position = row.position
    return RowDifferencePage(items, key=key, matched_by=matched_by)


def _difference(row: RowPair) -> RowDifference:
    kind: Literal["added", "removed", "changed"] = "changed"
    if row.left is None:
        kind = "added"
    elif row.right is None:
        kind = "removed"
    return RowDifference(kind, row.key, row.left, row.right, row.columns, row.count)


def _offset(text: str, named: Sequence[str], *, whole_rows: bool) -> _Offset:
    """Returns where the page before ended. Raises Invalid if it is of another listing."""
    try:
        found = _OFFSET_DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError):
        found = None
    if found is None or not _is_of(found, named, whole_rows=whole_rows):
        raise Invalid(
            "argument after: is not the next_offset of a page",
            kind="invalid_after",
            hint="Send the next_offset of the page before, with the same key.",
        )
    return found


def _is_of(found: _Offset, named: Sequence[str], *, whole_rows: bool) -> bool:
    if found.matched_by == "whole_rows":
        number, *kind = found.position or [""]
        is_position = number.isascii() and number.isdigit() and len(number) < _MAX_DIGITS
        return is_position and kind in (["added"], ["removed"]) and not named and not found.key
    is_whole = bool(found.key) and len(found.key) == len(found.position)
    is_named = found.matched_by == "given"
    return is_whole and not whole_rows and (found.key == list(named) if is_named else not named)
