"""The minimum version of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.errors import NotSupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["require_version"]

_MIN_VERSION = (4, 1)


def require_version(spark: SparkSession) -> None:
    """Raises NotSupported for a session of Spark before 4.1."""
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    if version < _MIN_VERSION:
        raise NotSupported(f"Spark {spark.version} is too old", hint="Use Spark 4.1 or later.")
