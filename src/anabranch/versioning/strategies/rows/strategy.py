"""The strategy `rows`: merges the rows of CSV, JSON lines, Parquet and Arrow by key.

A cell that one side changed takes that side; rows that one side added or removed are added or
removed. Rows that conflict become what `choices` say. DuckDB compares the three versions within a
limit of memory; values are those of the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import msgspec

from anabranch.errors import Invalid
from anabranch.model.commits.row_conflict import RowConflict, RowConflictPage
from anabranch.tables.text.encoding import TextEncoding
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    ObjectVersion,
    PathConflict,
)
from anabranch.versioning.strategies.rows.compressed import compressed_output, unpack
from anabranch.versioning.strategies.rows.database import (
    database_errors,
    opening_database,
    require_libraries,
)
from anabranch.versioning.strategies.rows.formats import (
    ColumnFormat,
    find_format,
    require_format,
)
from anabranch.versioning.strategies.rows.json_lines.merge import JsonLinesMerge
from anabranch.versioning.strategies.rows.json_lines.table import JsonLinesTable
from anabranch.versioning.strategies.rows.merging.cell_conflicts import cell_conflicts
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions
from anabranch.versioning.strategies.rows.merging.conflict_rows import choose_rows, conflict_rows
from anabranch.versioning.strategies.rows.merging.merged_schema import common_types, merged_schema
from anabranch.versioning.strategies.rows.merging.row_choices import RowChoices
from anabranch.versioning.strategies.rows.row_key import detect_key, require_unique
from anabranch.versioning.strategies.rows.scanned_sides import ScannedSides
from anabranch.versioning.strategies.rows.table_format import failure
from anabranch.versioning.strategies.rows.tables import (
    EmptyTable,
    create_empty,
    decode_lines,
    load_lines,
)

__all__ = ["MAX_PAGE_BYTES", "RowsStrategy", "rows_strategy"]


MAX_PAGE_BYTES = 16 << 20
"""A page of rows ends with the one that exceeds this size as JSON."""


def rows_strategy(options: Mapping[str, Any]) -> RowsStrategy:
    """Returns the strategy. Options: `key`, the names of the columns that identify a row (detected
    without); `format`, if the path's extension does not tell; `choices` for the rows that conflict,
    see `RowChoices`. Raises Invalid for others, NotSupported without DuckDB and pyarrow.
    """
    unknown = sorted(options.keys() - {"key", "format", "choices"})
    if unknown:
        raise Invalid(
            f"the strategy rows has no option {unknown[0]!r}", kind="invalid_merge_options"
        )
    key = options.get("key", [])
    names = [key] if isinstance(key, str) else key
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise Invalid(
            f"option key: must be the name of a column or a list of names, not {key!r}",
            kind="invalid_merge_options",
        )
    given = options.get("format", "")
    if given:
        require_format(str(given))
    choices = options.get("choices", [])
    RowChoices.parse(choices)
    require_libraries("the strategy rows")
    return RowsStrategy(names, str(given), choices)


class _Tables(NamedTuple):
    """The three versions of a table in one database, their key, and where a merge is written."""

    connection: Any
    file_format: ColumnFormat
    folder: str
    tables: Mapping[str, Any]
    schema: Any
    key: Sequence[str]
    decisions: CellDecisions


class _Lines(NamedTuple):
    """The same of JSON lines."""

    connection: Any
    file_format: JsonLinesTable
    key: Sequence[str]
    like: ObjectVersion
    encoding: TextEncoding


class RowsStrategy:
    """The strategy with its options."""

    def __init__(self, key: Sequence[str], format_name: str, choices: Sequence[Any]) -> None:
        self._key = list(dict.fromkeys(key))
        self._format = format_name
        self._choices = choices

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes the merged table, or returns the rows and cells that conflict. Raises Conflict for
        tables that cannot be merged, and choices that cannot be made.
        """
        missing = _missing_side(conflict)
        if missing:
            return [ContentConflict(key={}, message=missing)]
        choices = RowChoices.parse(self._choices)
        with opening_database(conflict.work_folder) as opening, database_errors():
            found, compression = self._open(conflict, opening)
            folder = conflict.work_folder
            if isinstance(found, _Lines):
                lines = JsonLinesMerge(found.connection, found.key, choices)
                with _created(output, conflict.path, compression, folder) as stream:
                    found.file_format.write(
                        lines.merged(), found.like, found.encoding, output=stream
                    )
                return lines.conflicts
            if choices:
                choose_rows(found.decisions, found.tables, found.key, choices)
            conflicts = cell_conflicts(found.decisions, found.tables, found.key)
            if not conflicts:
                with _created(output, conflict.path, compression, folder) as stream:
                    found.file_format.write(
                        found.decisions, found.tables, found.schema, stream, folder
                    )
            return conflicts

    def list_conflicts(self, conflict: PathConflict, start: int, amount: int) -> RowConflictPage:
        """Returns a page of the rows in conflict, without the first `start`; its `next_offset` is
        the start of the next. Raises Conflict for tables that cannot be merged.
        """
        missing = _missing_side(conflict)
        if missing:
            raise failure(f"{missing}, so no row is in conflict with another")
        with opening_database(conflict.work_folder) as opening, database_errors():
            found, _ = self._open(conflict, opening)
            if isinstance(found, _Lines):
                lines = JsonLinesMerge(found.connection, found.key, RowChoices.parse([]))
                rows: Iterator[RowConflict] = islice(lines.conflict_rows(), start, None)
            else:
                rows = conflict_rows(found.decisions, found.tables, found.key, start)
            return _page(rows, start, amount, list(found.key))

    def _open(self, conflict: PathConflict, opening: Future[Any]) -> tuple[_Tables | _Lines, str]:
        """Returns the three versions of a table as they are compared, and the compression of the
        destination.
        """
        sides = {side: getattr(conflict, side) for side in ("destination", "source", "base")}
        versions: dict[str, ObjectVersion] = {
            side: version for side, version in sides.items() if version is not None
        }
        folder = conflict.work_folder
        file_format, compression = find_format(conflict.path, self._format, versions["destination"])
        if compression:
            versions = {side: unpack(side, each, folder) for side, each in versions.items()}
        if not isinstance(file_format, JsonLinesTable):
            return self._open_columns(opening, file_format, versions, folder), compression
        versions, encodings = decode_lines(versions, folder)
        connection = opening.result()
        loaded = load_lines(connection, file_format, versions, self._key)
        key = self._key or detect_key(loaded)
        require_unique(loaded, key)
        if "base" not in versions:
            create_empty(connection, "base", like="source")
        like, encoding = versions["destination"], encodings["destination"]
        return _Lines(connection, file_format, key, like, encoding), compression

    def _open_columns(
        self,
        opening: Future[Any],
        file_format: ColumnFormat,
        versions: Mapping[str, ObjectVersion],
        folder: str,
    ) -> _Tables:
        if not file_format.merges:
            raise failure(f"tables of {file_format.name} are compared, and not merged")
        tables: dict[str, Any] = {
            side: file_format.open(side, version, folder) for side, version in versions.items()
        }
        whole = file_format.whole_columns(tables)
        connection = opening.result()
        types = common_types({side: table.schema for side, table in tables.items()}, whole=whole)
        sides = ScannedSides(connection, tables, types, file_format.name)
        key = self._key or detect_key(sides)
        require_unique(sides, key)
        if "base" not in tables:  # both sides added the other columns
            tables["base"] = EmptyTable(tables["source"].schema, key)
            sides = ScannedSides(connection, tables, types, file_format.name)
        schema = merged_schema({side: table.schema for side, table in tables.items()}, whole=whole)
        decisions = CellDecisions(connection, sides, key, schema.names)
        decisions.decide()
        return _Tables(connection, file_format, folder, tables, schema, key, decisions)


def _missing_side(conflict: PathConflict) -> str:
    """Returns a sentence about the side that deleted the table, "" if none did."""
    for side in ("source", "destination"):
        if getattr(conflict, side) is None:
            return f"the {side} deleted the table"
    return ""


@contextmanager
def _created(output: MergeOutput, path: str, compression: str, folder: str) -> Iterator[BinaryIO]:
    """Yields a stream for the content of the path, compressed as the destination is."""
    with (
        output.create(path) as stream,
        compressed_output(stream, compression, folder) as plain,
    ):
        yield plain


def _page(rows: Iterator[RowConflict], start: int, amount: int, key: list[str]) -> RowConflictPage:
    items: list[RowConflict] = []
    size = 0
    for row in rows:
        if len(items) == amount or size > MAX_PAGE_BYTES:
            return RowConflictPage(items, True, str(start + len(items)), key=key)
        items.append(row)
        size += len(msgspec.json.encode(row))
    return RowConflictPage(items, key=key)
