"""Tasks that compare a sample of a listing with the store."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.pipelines.imports.listings.stored_check import sample_problems
from anabranch.spark.arrow_tables import collect_arrow
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["stored_problems"]

_ROWS_PER_TASK = 250
"""The number of rows that each task compares."""

_PROBLEMS = pa.schema(
    [("path", pa.string()), ("physical_address", pa.string()), ("problem", pa.string())]
)


def stored_problems(
    spark: SparkSession, opener: Opener, sample: pa.Table
) -> list[tuple[str, str, str]]:
    """Returns the path, the address and the problem of each sampled row that does not match an
    object in the store. `sample` has the schema SAMPLED.
    """
    partitions = sample.to_batches(max_chunksize=_ROWS_PER_TASK)
    if not partitions:
        return []
    found = map_in_tasks(spark, partitions, partial(_find_problems, opener), _PROBLEMS)
    problems = collect_arrow(found)
    return [(row["path"], row["physical_address"], row["problem"]) for row in problems.to_pylist()]


def _find_problems(opener: Opener, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    with open_store(opener) as blocks:
        problems = sample_problems(pa.Table.from_batches([rows]), blocks)
    columns = list(zip(*problems, strict=True)) or [()] * len(_PROBLEMS)
    yield pa.RecordBatch.from_arrays(
        [pa.array(column, pa.string()) for column in columns], schema=_PROBLEMS
    )
