"""Scan plans: the driver plans partitions, and Spark reads each in a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from anabranch.spark.planning.declaration import declaration
from anabranch.spark.require_version import require_version

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Plan", "default_tasks", "map_in_tasks"]


Partition = TypeVar("Partition")


class Plan(NamedTuple):
    """Partitions, and the function that reads one in a worker; both can be pickled."""

    partitions: Sequence[Any]
    read: Callable[[Any], Iterable[pa.RecordBatch]]


def default_tasks(spark: SparkSession) -> int:
    """Returns the number of tasks that the session runs concurrently by default."""
    partitions = spark.range(1 << 20).selectExpr("spark_partition_id() AS id").distinct()
    return int(partitions.count())


def map_in_tasks(
    spark: SparkSession,
    partitions: Sequence[Partition],
    read: Callable[[Partition], Iterable[pa.RecordBatch]],
    schema: pa.Schema,
) -> DataFrame:
    """Returns the batches that `read` yields for each partition, in order. The function and all
    partitions are sent to every worker, which must have Anabranch installed; a range takes about
    150 bytes. Raises NotSupported for a version of Spark that is too old.
    """
    require_version(spark)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from read(partitions[number])

    numbers = spark.range(0, len(partitions), 1, max(1, len(partitions)))
    return numbers.mapInArrow(run, declaration(schema))
