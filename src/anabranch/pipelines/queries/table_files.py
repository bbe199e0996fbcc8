"""The relations of a query's tables.

DuckDB reads Parquet itself, if the files have only types that it holds exactly: it reads just the
columns and row groups that a query needs. `file_tables` reads all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch.pipelines.queries.file_tables import FileTables, folder_columns
from anabranch.pipelines.queries.object_filesystem import ObjectFilesystem, location_of
from anabranch.tables.sql_columns import unique_names
from anabranch.tables.sql_names import READ_PARQUET, folded, identifier, literal

__all__ = ["TableReader"]


class TableReader:
    """Makes relations of files. `connection` is DuckDB's, whose file system is `objects`."""

    def __init__(self, connection: Any, objects: ObjectFilesystem) -> None:
        self._connection = connection
        self._objects = objects
        self._tables: list[FileTables] = []

    @property
    def failure(self) -> Exception | None:
        """Why a file could not be read, of which DuckDB's error says less."""
        return next((each.failure for each in self._tables if each.failure), None)

    def notes(self) -> list[str]:
        """Returns how files were read so far, as far as that is not usual."""
        return [note for table in self._tables for note in table.notes()]

    def create_view(self, name: str, addresses: list[str], table_format: str) -> None:
        """Creates the view `name` of the rows of files of one format. Raises UnreadableTable."""
        if table_format == "parquet" and self._is_exact(addresses):
            files = ", ".join(literal(location_of(address)) for address in addresses)
            select = f"SELECT * FROM {READ_PARQUET}([{files}], union_by_name = true)"  # noqa: S608
            self._connection.execute(f"CREATE OR REPLACE VIEW {identifier(name)} AS {select}")
            return
        tables = FileTables(self._objects, addresses, table_format)
        self._tables.append(tables)
        self._connection.register(name, tables.relation)

    def _is_exact(self, addresses: Sequence[str]) -> bool:
        """Returns whether DuckDB's reader shows the values of Parquet files as they are."""
        import pyarrow as pa  # noqa: PLC0415  slow to import
        import pyarrow.parquet as pq  # noqa: PLC0415

        folders = set(map(folded, folder_columns(addresses)))
        types: dict[str, Any] = {}
        for address in addresses:
            try:
                with pq.ParquetFile(self._objects.open(address)) as file:
                    schema, stored = file.schema_arrow, file.schema
            except (pa.ArrowException, OSError, ValueError, NotImplementedError):
                return False  # the other reader says why
            names = set(map(folded, schema.names))
            is_int96 = any(
                stored.column(at).physical_type == "INT96" for at in range(len(stored.names))
            )
            is_plain = all(_is_exact_type(field.type) for field in schema)
            if is_int96 or not is_plain or names & folders:
                return False
            if unique_names(schema.names) != schema.names:
                return False
            if any(types.setdefault(field.name, field.type) != field.type for field in schema):
                return False  # DuckDB's common type of two may not hold the values of both
        return True


def _is_exact_type(kind: Any) -> bool:
    """Returns whether DuckDB's reader of Parquet has a type for an Arrow type."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_struct(kind):
        names = {folded(field.name) for field in kind}
        is_named = 0 < kind.num_fields == len(names) and "" not in names
        return is_named and all(_is_exact_type(field.type) for field in kind)
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_dictionary(kind):
        return _is_exact_type(kind.value_type)
    if kinds.is_timestamp(kind):
        return bool(kind.unit in ("ms", "us") or (kind.unit == "ns" and kind.tz is None))
    if kinds.is_decimal128(kind):
        return bool(0 <= kind.scale <= kind.precision)
    is_text = kinds.is_string(kind) or kinds.is_large_string(kind)
    is_binary = kinds.is_binary(kind) or kinds.is_large_binary(kind)
    is_number = kinds.is_boolean(kind) or kinds.is_integer(kind) or kind == pa.float32()
    is_time = bool(kind in (pa.date32(), pa.time32("ms"), pa.time64("us")))
    return bool(is_text or is_binary or is_number or is_time or kind == pa.float64())
