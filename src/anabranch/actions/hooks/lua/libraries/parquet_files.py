"""`encoding/parquet`."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from anabranch.actions.hooks.contract import HookContext
from anabranch.errors.dependency_errors import reason_of
from anabranch.tables.formats import detect_format
from anabranch.tables.table import UnreadableTable
from anabranch.tables.type_names import type_name

__all__ = ["parquet"]


def parquet(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `encoding/parquet`. Raises ImportError without pyarrow."""
    import pyarrow as pa  # noqa: PLC0415  an optional library, which takes long to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    from anabranch.tables.open_table import open_typed_table  # noqa: PLC0415

    def get_schema(payload: bytes, format_name: str = "") -> list[dict[str, str]]:
        """Returns the names and types of a table's columns: of Parquet the physical types, of
        nested columns the innermost; of other formats those of SQL. Text needs its format's name.
        """
        try:
            stream = io.BytesIO(payload)
            found, _ = detect_format(stream, "", format_name or "parquet")
            if found is not None and found.name != "parquet":
                schema = open_typed_table(stream, "", format_name).schema
                return [{"name": field.name, "type": type_name(field.type)} for field in schema]
            stored = pq.ParquetFile(stream).schema
        except UnreadableTable as error:
            raise ValueError(f"invalid {format_name or 'table'}: {error.message}") from error
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"invalid Parquet file: {reason_of(error)}") from error
        columns = [stored.column(number) for number in range(len(stored.names))]
        return [{"name": each.name, "type": each.physical_type} for each in columns]

    return {"get_schema": get_schema}
