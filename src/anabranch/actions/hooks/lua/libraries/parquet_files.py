"""`encoding/parquet`."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from anabranch.actions.hooks.contract import HookContext
from anabranch.dependency_errors import reason_of

__all__ = ["parquet"]


def parquet(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `encoding/parquet`. Raises ImportError without pyarrow."""
    import pyarrow as pa  # noqa: PLC0415  an optional library, which takes long to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    def get_schema(payload: bytes) -> list[dict[str, str]]:
        """Returns the names and physical types of the columns; of nested ones the innermost."""
        try:
            schema = pq.ParquetFile(io.BytesIO(payload)).schema
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"invalid Parquet file: {reason_of(error)}") from error
        columns = [schema.column(number) for number in range(len(schema.names))]
        return [{"name": each.name, "type": each.physical_type} for each in columns]

    return {"get_schema": get_schema}
