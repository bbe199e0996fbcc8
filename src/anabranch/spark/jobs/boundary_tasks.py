"""Tasks that rewrite ranges at the boundaries between other tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.spark.planning.partition_planning import Range, Ranges
from anabranch.spark.planning.range_boundaries import join_ranges
from anabranch.spark.planning.scan_plan import map_in_tasks
from anabranch.spark.sources.table_files import WritableTables, open_range_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["join_in_tasks", "rewrite_run"]

_FEW = 4
"""The number of runs that the driver rewrites itself, which takes less time than a Spark job."""

_RESULT = pa.schema(
    [
        ("run", pa.int64()),
        ("id", pa.string()),
        ("min_key", pa.binary()),
        ("max_key", pa.binary()),
        ("entries", pa.int64()),
        ("estimated_size", pa.int64()),
    ]
)


def join_in_tasks(
    spark: SparkSession, tables: WritableTables, tasks: Iterable[Ranges]
) -> list[Range]:
    """Returns the ranges of one tree, from the ranges that each task wrote to `tables`, in order.
    Raises Gone, Corrupt.
    """
    return join_ranges(tasks, partial(_rewrite, spark, tables))


def rewrite_run(tables: WritableTables, run: Ranges) -> list[Range]:
    """Writes the ranges that a single writer would write for the records of several ranges."""
    with open_range_tables(tables, run) as tree:
        infos = tables.write_ranges(partial(_write, tree))
    return [
        Range(info.id, info.min_key, info.max_key, info.count, info.estimated_size)
        for info in infos
    ]


def _write(tree: kernel.Tree, folder: str) -> Sequence[kernel.RangeInfo]:
    return kernel.write_ranges_arrow(tree.scan(decoded=False), folder)


def _rewrite(
    spark: SparkSession, tables: WritableTables, runs: Sequence[Ranges]
) -> Iterable[Ranges]:
    if len(runs) <= _FEW:
        return (rewrite_run(tables, run) for run in runs)
    work = partial(_rewrite_rows, tables)
    rows = map_in_tasks(spark, list(enumerate(runs)), work, _RESULT).collect()
    rewritten: list[list[Range]] = [[] for _ in runs]
    for row in sorted(rows, key=lambda row: bytes(row["min_key"])):
        min_key, max_key = bytes(row["min_key"]), bytes(row["max_key"])
        written = Range(row["id"], min_key, max_key, row["entries"], row["estimated_size"])
        rewritten[row["run"]].append(written)
    return rewritten


def _rewrite_rows(tables: WritableTables, numbered: tuple[int, Ranges]) -> Iterator[pa.RecordBatch]:
    number, run = numbered
    rows = [
        dict(zip(_RESULT.names, (number, *each), strict=True)) for each in rewrite_run(tables, run)
    ]
    yield pa.RecordBatch.from_pylist(rows, schema=_RESULT)
