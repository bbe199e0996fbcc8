"""Rows that a verification computes once and reads several times: on the disks of the workers.

If a worker is lost, Spark computes its rows again. Tables never change, and what was not listed
again in the same way is looked up object by object, so the findings stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["KeptFrames", "all_rows"]


class KeptFrames:
    """DataFrames whose rows are kept until `remove`."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def keep(self, frame: DataFrame) -> DataFrame:
        """Returns a DataFrame whose rows are kept as soon as they are computed."""
        from pyspark.storagelevel import StorageLevel  # noqa: PLC0415  an extra

        kept = frame.persist(StorageLevel.DISK_ONLY)
        self._frames.append(kept)
        return kept

    def remove(self) -> None:
        """Removes all rows."""
        for frame in self._frames:
            frame.unpersist()
        self._frames.clear()


def all_rows(frames: Iterable[DataFrame]) -> DataFrame:
    """Returns the rows of one or more DataFrames with the same columns."""
    return reduce(lambda some, more: some.unionAll(more), frames)
