"""The strategy `rows`: merges the rows of CSV, JSON lines, Parquet and Arrow by key.

A cell that one side changed takes that side; rows that one side added or removed are added or
removed. DuckDB compares the three versions within a limit of memory; values are those of the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

from anabranch.errors import Invalid
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
from anabranch.versioning.strategies.rows.merging.merged_schema import common_types, merged_schema
from anabranch.versioning.strategies.rows.row_key import detect_key, require_unique
from anabranch.versioning.strategies.rows.scanned_sides import ScannedSides
from anabranch.versioning.strategies.rows.table_format import failure
from anabranch.versioning.strategies.rows.tables import (
    EmptyTable,
    create_empty,
    decode_lines,
    load_lines,
)

__all__ = ["rows_strategy"]


def rows_strategy(options: Mapping[str, Any]) -> _RowsStrategy:
    """Returns the strategy. Options: `key`, the names of the columns that identify a row (detected
    without), and `format`, if the path's extension does not tell. Raises Invalid for others,
    NotSupported without DuckDB and pyarrow.
    """
    unknown = sorted(options.keys() - {"key", "format"})
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
    require_libraries("the strategy rows")
    return _RowsStrategy(names, str(given))


class _Target(NamedTuple):
    """Where the merged table is written, compressed as the destination is."""

    output: MergeOutput
    path: str
    compression: str
    folder: str

    @contextmanager
    def create(self) -> Iterator[BinaryIO]:
        """Yields a stream for the content of the path."""
        with (
            self.output.create(self.path) as stream,
            compressed_output(stream, self.compression, self.folder) as plain,
        ):
            yield plain


class _RowsStrategy:
    def __init__(self, key: Sequence[str], format_name: str) -> None:
        self._key = list(dict.fromkeys(key))
        self._format = format_name

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes the merged table, or returns the rows and cells that conflict. Raises Conflict for
        tables that cannot be merged.
        """
        with opening_database(conflict.work_folder) as opening:
            return self._merge(conflict, output, opening)

    def _merge(
        self, conflict: PathConflict, output: MergeOutput, opening: Future[Any]
    ) -> Sequence[ContentConflict]:
        source, destination = conflict.source, conflict.destination
        if source is None or destination is None:
            side = "source" if source is None else "destination"
            return [ContentConflict(key={}, message=f"the {side} deleted the table")]
        file_format, compression = find_format(conflict.path, self._format, destination)
        versions: dict[str, ObjectVersion] = {"destination": destination, "source": source}
        if conflict.base is not None:
            versions["base"] = conflict.base
        target = _Target(output, conflict.path, compression, conflict.work_folder)
        if compression:
            folder = conflict.work_folder
            versions = {side: unpack(side, each, folder) for side, each in versions.items()}
        with database_errors():
            if not isinstance(file_format, JsonLinesTable):
                return self._merge_columns(opening, file_format, versions, target)
            versions, encodings = decode_lines(versions, conflict.work_folder)
            connection = opening.result()
            sides = load_lines(connection, file_format, versions, self._key)
            key = self._key or detect_key(sides)
            require_unique(sides, key)
            if conflict.base is None:
                create_empty(connection, "base", like="source")
            lines = JsonLinesMerge(connection, key)
            with target.create() as stream:
                like, encoding = versions["destination"], encodings["destination"]
                file_format.write(lines.merged(), like, encoding, output=stream)
            return lines.conflicts

    def _merge_columns(
        self,
        opening: Future[Any],
        file_format: ColumnFormat,
        versions: Mapping[str, ObjectVersion],
        target: _Target,
    ) -> Sequence[ContentConflict]:
        if not file_format.merges:
            raise failure(f"tables of {file_format.name} are compared, and not merged")
        folder = target.folder
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
        conflicts = cell_conflicts(decisions, tables, key)
        if not conflicts:
            with target.create() as stream:
                file_format.write(decisions, tables, schema, stream, folder)
        return conflicts
