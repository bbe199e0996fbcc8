"""Arrow tables to and from DataFrames, also with Spark 3.5, which has no functions for that."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from anabranch.spark.planning.scan_plan import map_in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["collect_arrow", "to_arrow", "to_frame"]

_BATCH_ROWS = 1 << 16


def collect_arrow(frame: DataFrame) -> pa.Table:
    """Returns all rows of a DataFrame."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    batches = frame._collect_as_arrow()  # noqa: SLF001  Spark 3.5
    # timestamps of batches have the session's time zone
    return pa.Table.from_batches(batches) if batches else to_arrow(frame.schema).empty_table()


def to_arrow(schema: Any) -> pa.Schema:
    """Returns a schema of Spark as one of Arrow. Its timestamps are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415  an extra

    # Spark 4.3 has to be told, older versions have no such parameter
    in_utc = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **in_utc)


def to_frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Returns a table as a DataFrame."""
    if hasattr(spark.range(0), "toArrow"):
        # as one batch, because PySpark 4.1 drops the batches after an empty one
        return spark.createDataFrame(table.combine_chunks())
    batches = table.combine_chunks().to_batches(max_chunksize=_BATCH_ROWS)
    return map_in_tasks(spark, batches, _yield_batch, table.schema)


def _yield_batch(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    yield batch
