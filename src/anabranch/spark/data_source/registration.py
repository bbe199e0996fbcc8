"""Registers the format `anabranch` with a Spark session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anabranch.spark.require_version import require_version
from anabranch.spark.sources.server_source import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(
    spark: SparkSession,
    source: Server | str | os.PathLike[str] | None = None,
    *,
    push_filters: bool = False,
) -> None:
    """Registers the format `anabranch`, for `spark.read` and `spark.readStream`, with a session.

    `source` is a server or the folder of a lake; without it, the options of each query name one.
    With `push_filters`, filters on the prefixes of paths and names are pushed down, and
    `spark.sql.python.filterPushdown.enabled` is set. Use it **only** if each loaded table is used
    once, because Spark 4.1.4 reuses the partitions of one query for other queries of the table.
    The option `prefix` has the same effect without this restriction.

    Raises NotSupported for a Spark before 4.1.
    """
    require_version(spark)
    from anabranch.spark.data_source.provider import data_source  # noqa: PLC0415  imports PySpark

    default = source if source is None or isinstance(source, Server) else os.fspath(source)
    spark.dataSource.register(data_source(default, push_filters=push_filters))
    if push_filters:
        spark.conf.set(_PUSHDOWN, "true")
