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
    """Makes `spark.read.format("anabranch")` known to a session.

    `source` is a server, or the folder of a lake; where it is not given, each reader's options say.
    With `push_filters`, conditions on paths and names are taken over before tables are read
    (`spark.sql.python.filterPushdown.enabled` is set for that): **only** where each table that is
    loaded is used once, since Spark 4.1.4 mixes up the plans of two queries of one. The option
    `prefix` does the same and is always right.

    Raises NotSupported for a Spark before 4.1.
    """
    require_version(spark)
    from anabranch.spark.data_source.provider import data_source  # noqa: PLC0415  it imports PySpark

    place = source if source is None or isinstance(source, Server) else os.fspath(source)
    spark.dataSource.register(data_source(place, pushing=push_filters))
    if push_filters:
        spark.conf.set(_PUSHDOWN, "true")
