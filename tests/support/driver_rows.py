"""What reaches Spark's driver: the rows of all results, while Spark refuses large ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DriverRows", "driver_rows"]

_SETTING = "spark.driver.maxResultSize"


class DriverRows:
    """The number of rows that the driver has received, in total and of the largest result."""

    def __init__(self) -> None:
        self.total = 0
        self.largest = 0

    def add(self, rows: int) -> None:
        """Adds a result."""
        self.total += rows
        self.largest = max(self.largest, rows)


@contextmanager
def driver_rows(spark: SparkSession, max_result: str) -> Iterator[DriverRows]:
    """Counts the rows that the driver receives. Results of a job that are larger than `max_result`,
    such as 1m, fail the job.
    """
    counted = DriverRows()
    # the type of classic sessions, whose methods a session of Spark Connect does not use
    frame = type(spark.range(1))
    configuration = spark.sparkContext._jsc.sc().conf()  # which each new stage reads
    before = configuration.get(_SETTING, "1g")
    with pytest.MonkeyPatch.context() as patch:
        # Spark 3.5 has no `toArrow`
        for name, size in (("collect", len), ("_collect_as_arrow", _rows)):
            patch.setattr(frame, name, _counting(getattr(frame, name), size, counted))
        configuration.set(_SETTING, max_result)
        try:
            yield counted
        finally:
            configuration.set(_SETTING, before)


def _rows(batches: Any) -> int:
    """Returns the number of rows of batches, or of a table."""
    if hasattr(batches, "num_rows"):
        return int(batches.num_rows)
    return sum(batch.num_rows for batch in batches)


def _counting(method: Any, size: Any, counted: DriverRows) -> Any:
    def call(self: DataFrame, *args: Any, **options: Any) -> Any:
        result = method(self, *args, **options)
        counted.add(size(result))
        return result

    return call
