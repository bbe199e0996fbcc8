"""Registers the format `anabranch` with a Spark session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anabranch.errors import Invalid
from anabranch.spark.require_version import FOR_DATA_SOURCES, require_version
from anabranch.spark.sources.server_source import Server
from anabranch.spark.sources.stores import Opener

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]

_EXISTS = "DATA_SOURCE_ALREADY_EXISTS"


def register(
    spark: SparkSession,
    source: Server | str | os.PathLike[str] | None = None,
    *,
    store: Opener | None = None,
    name: str = "anabranch",
) -> None:
    """Registers the format `anabranch`, for `spark.read` and `spark.readStream`, with a session.

    `source` is a server or the folder of a lake; without it, the options of each query name one.
    With a server and `store`, such as `S3Store`, tasks read tables from the object store instead of
    through the server. `name` is the name of the format, so that a session can have several. Two
    sessions of an application need different names, because Spark 4.1 refuses one in the second
    session.

    Raises NotSupported for a Spark before 4.1, and Invalid for a name of another session.
    """
    require_version(spark, FOR_DATA_SOURCES)
    from pyspark.errors import PySparkException  # noqa: PLC0415  an extra

    from anabranch.spark.data_source.provider import data_source  # noqa: PLC0415  imports PySpark

    default = source if source is None or isinstance(source, Server) else os.fspath(source)
    try:
        spark.dataSource.register(data_source(default, store, name))
    except PySparkException as error:
        if error.getCondition() != _EXISTS:
            raise
        raise Invalid(
            f"{name}: another session of this application has registered this format",
            kind="format_exists",
            hint="Register it under another `name`, and read that format in this session.",
        ) from error
