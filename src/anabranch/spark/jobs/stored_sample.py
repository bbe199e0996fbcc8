"""Compares a sample of a listing with the store, by tasks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch.pipelines.imports.listings.stored_check import sample_problems
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.stores import Opener, open_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["stored_problems"]

_ROWS = 250
"""The number of rows that each task looks up."""

_COLUMNS = "path STRING, physical_address STRING, problem STRING"
_ARROW = pa.schema(
    [("path", pa.string()), ("physical_address", pa.string()), ("problem", pa.string())]
)


def stored_problems(
    spark: SparkSession, opener: Opener, sample: pa.Table
) -> list[tuple[str, str, str]]:
    """Returns the rows of a table of SAMPLED that do not match an object in the store, as (path,
    address, problem).
    """
    shares = sample.to_batches(max_chunksize=_ROWS)
    if not shares:
        return []
    found = map_in_tasks(spark, shares, partial(_looked_up, opener), _COLUMNS).toArrow()
    return [(row["path"], row["physical_address"], row["problem"]) for row in found.to_pylist()]


def _looked_up(opener: Opener, share: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    with open_store(opener) as blocks:
        problems = sample_problems(pa.Table.from_batches([share]), blocks)
    columns = list(zip(*problems, strict=True)) or [()] * len(_ARROW)
    yield pa.RecordBatch.from_arrays(
        [pa.array(column, pa.string()) for column in columns], schema=_ARROW
    )
