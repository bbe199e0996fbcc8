"""`encoding/parquet`."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from anabranch.actions.hooks.contract import HookContext

__all__ = ["parquet"]


def parquet(_: HookContext) -> Mapping[str, Any]:
    """Returns the library `encoding/parquet`. Raises ImportError without pyarrow."""
    import pyarrow.parquet as pq  # noqa: PLC0415  an optional library, which takes long to import

    def get_schema(payload: bytes) -> list[dict[str, str]]:
        """Returns the names and physical types of the columns; of nested ones the innermost."""
        schema = pq.ParquetFile(io.BytesIO(payload)).schema
        columns = [schema.column(number) for number in range(len(schema.names))]
        return [{"name": each.name, "type": each.physical_type} for each in columns]

    return {"get_schema": get_schema}
