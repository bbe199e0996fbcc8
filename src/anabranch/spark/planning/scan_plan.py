"""Scan plans: the driver plans pieces, and Spark reads each in a task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from anabranch.spark.require_version import require_version

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Plan", "in_tasks"]


Piece = TypeVar("Piece")


class Plan(NamedTuple):
    """Pieces, and the function that reads one in a worker; both can be pickled."""

    pieces: Sequence[Any]
    read: Callable[[Any], Iterable[pa.RecordBatch]]


def in_tasks(
    spark: SparkSession,
    pieces: Sequence[Piece],
    read: Callable[[Piece], Iterable[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    """Returns the results of `read` for all pieces, in order. Both are sent to every worker, where
    Anabranch must be installed; a range takes about 150 bytes. Raises NotSupported for a version of
    Spark that is too old.
    """
    require_version(spark)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from read(pieces[number])

    return spark.range(0, len(pieces), 1, max(1, len(pieces))).mapInArrow(run, schema)
