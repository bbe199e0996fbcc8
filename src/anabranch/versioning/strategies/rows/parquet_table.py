"""Parquet files of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import ROW, Columns, quoted, require_usable
from anabranch.versioning.strategies.rows.table_format import columns_of, file_literal, unreadable

__all__ = ["ParquetTable"]

_BATCH_ROWS = 65_536
_OPTIONS = "hive_partitioning = false"


class ParquetTable:
    """Parquet: the destination's schema, compression and size of row groups are kept."""

    def load(
        self,
        connection: Any,
        side: str,
        version: ObjectVersion,
        key: Sequence[str],  # noqa: ARG002  all columns are known
    ) -> Columns:
        """Makes the view `side`."""
        import duckdb  # noqa: PLC0415  optional libraries
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        try:
            # before DuckDB reads it, which renames what it cannot tell apart
            require_usable(side, pq.read_schema(version.path()).names)
            relation = f"read_parquet({file_literal(version)}, {_OPTIONS}, file_row_number = true)"
            connection.execute(
                f"CREATE VIEW {quoted(side)} AS SELECT * EXCLUDE (file_row_number), "  # noqa: S608
                f"file_row_number AS {quoted(ROW)} FROM {relation}"
            )
            return columns_of(connection, side)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise unreadable(side, "Parquet", error) from error

    def write(
        self,
        connection: Any,
        query: str,
        columns: Columns,
        like: ObjectVersion,
        output: BinaryIO,
        folder: str,  # noqa: ARG002  it is written directly
    ) -> None:
        """Writes with the schema, compression and size of row groups of `like`."""
        import pyarrow as pa  # noqa: PLC0415  optional libraries
        import pyarrow.parquet as pq  # noqa: PLC0415

        with pq.ParquetFile(like.path()) as old:
            known, about = old.schema_arrow, old.metadata
            group = about.row_group(0) if about.num_row_groups else None
            codec = group.column(0).compression if group and group.num_columns else "SNAPPY"
            rows = max(group.num_rows, 1) if group else _BATCH_ROWS
        source = f"SELECT * FROM read_parquet({file_literal(like)}, {_OPTIONS})"  # noqa: S608
        types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {source}").fetchall()}
        reader = connection.execute(query).to_arrow_reader(_BATCH_ROWS)
        fields = [
            known.field(field.name) if columns[field.name] == types.get(field.name) else field
            for field in reader.schema
        ]
        schema = pa.schema(fields, metadata=known.metadata)
        batches: list[Any] = []
        count = 0
        with pq.ParquetWriter(output, schema, compression=codec.lower()) as writer:
            for batch in reader:
                batches.append(batch)
                count += batch.num_rows
                if count >= rows:
                    writer.write_table(_table(batches, schema), row_group_size=rows)
                    batches, count = [], 0
            if batches:
                writer.write_table(_table(batches, schema), row_group_size=rows)


def _table(batches: list[Any], schema: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.Table.from_batches(batches).cast(schema)
