"""The strategy `rows`: merges the rows of CSV, TSV and Parquet files by key.

A cell that one side changed takes that side; rows that one side added or removed are added or
removed. DuckDB joins the three versions within a limit of memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import Invalid, NotSupported
from anabranch.versioning.strategies.contract import (
    ContentConflict,
    MergeOutput,
    PathConflict,
)
from anabranch.versioning.strategies.rows.columns import merged_columns
from anabranch.versioning.strategies.rows.join import (
    Join,
    create_empty_base,
    detect_key,
    require_unique,
)
from anabranch.versioning.strategies.rows.table_files import format_of

__all__ = ["MEMORY", "rows_strategy"]

MEMORY = "1GB"
"""How much memory the join may use; the rest is in temporary files."""


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
    try:
        import duckdb  # noqa: PLC0415  optional libraries
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise NotSupported(
            "the strategy rows needs DuckDB and pyarrow",
            kind="library_missing",
            hint="Install them on the server: pip install 'anabranch[merge]'",
        ) from error
    del duckdb, pyarrow
    return _RowsStrategy(names, str(given))


class _RowsStrategy:
    def __init__(self, key: Sequence[str], format_name: str) -> None:
        self._key = key
        self._format = format_name

    def merge(self, conflict: PathConflict, output: MergeOutput) -> Sequence[ContentConflict]:
        """Writes the merged table, or returns the rows and cells that conflict. Raises Conflict for
        tables that cannot be merged.
        """
        import duckdb  # noqa: PLC0415  optional

        source, destination = conflict.source, conflict.destination
        if source is None or destination is None:
            side = "source" if source is None else "destination"
            return [ContentConflict(key={}, message=f"the {side} deleted the table")]
        file_format = format_of(conflict.path, self._format)
        folder = conflict.work_folder
        config = {"memory_limit": MEMORY, "temp_directory": f"{folder}/spilled"}
        with duckdb.connect(config=config) as connection:
            connection.execute("SET autoinstall_known_extensions = false")
            versions = {"source": source, "destination": destination}
            if conflict.base is not None:
                versions["base"] = conflict.base
            tables = {
                side: file_format.load(connection, side, version)
                for side, version in versions.items()
            }
            key = list(self._key) or detect_key(connection, tables)
            require_unique(connection, key, tables)
            if conflict.base is None:
                tables["base"] = create_empty_base(connection, key, tables["source"])
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
