"""The minimum versions of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.errors import NotSupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FOR_DATA_SOURCES", "require_version"]

_FOR_JOBS = (3, 5)
FOR_DATA_SOURCES = (4, 1)
"""The first version whose Python data sources support all that the format `anabranch` needs."""


def require_version(spark: SparkSession, minimum: tuple[int, int] = _FOR_JOBS) -> None:
    """Raises NotSupported for a session of Spark before a version, by default 3.5."""
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    if version < minimum:
        raise NotSupported(
            f"Spark {spark.version} is too old",
            hint=f"Use Spark {minimum[0]}.{minimum[1]} or later.",
        )
