"""The strategy `rows`: merges the rows of CSV, TSV, Parquet and JSON lines by key.

A cell that one side changed takes that side; rows that one side added or removed are added or
removed. DuckDB joins the three versions within a limit of memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import Invalid
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    PathConflict,
)
from anabranch.versioning.strategies.rows.columns import merged_columns
from anabranch.versioning.strategies.rows.database import open_database, require_libraries
from anabranch.versioning.strategies.rows.formats import format_of
from anabranch.versioning.strategies.rows.join import Join
from anabranch.versioning.strategies.rows.json_lines_merge import JsonLinesMerge
from anabranch.versioning.strategies.rows.json_lines_table import JsonLinesTable
from anabranch.versioning.strategies.rows.tables import create_empty, load_tables

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
        format_of("", str(given))
    require_libraries("the strategy rows")
    return _RowsStrategy(names, str(given))


class _RowsStrategy:
    def __init__(self, key: Sequence[str], format_name: str) -> None:
        self._key = key
        self._format = format_name

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes the merged table, or returns the rows and cells that conflict. Raises Conflict for
        tables that cannot be merged.
        """
        source, destination = conflict.source, conflict.destination
        if source is None or destination is None:
            side = "source" if source is None else "destination"
            return [ContentConflict(key={}, message=f"the {side} deleted the table")]
        file_format = format_of(conflict.path, self._format)
        folder = conflict.work_folder
        with open_database(folder) as connection:
            versions = {"destination": destination, "source": source}
            if conflict.base is not None:
                versions["base"] = conflict.base
            tables, key = load_tables(connection, file_format, versions, self._key)
            if conflict.base is None:
                create_empty(connection, "base", like="source")
                # both sides added the other columns
                tables["base"] = {name: tables["source"][name] for name in key}
            if isinstance(file_format, JsonLinesTable):
                lines = JsonLinesMerge(connection, key)
                with output.create(conflict.path) as stream:
                    file_format.write(lines.merged(), like=destination, output=stream)
                return lines.conflicts
            columns = merged_columns(
                connection, tables["base"], tables["source"], tables["destination"]
            )
            join = Join(connection, key, tables, columns)
            conflicts = list(join.conflicts())
            if conflicts:
                return conflicts
            with output.create(conflict.path) as stream:
                file_format.write(
                    *(connection, join.merged(), columns, destination), output=stream, folder=folder
                )
        return []
