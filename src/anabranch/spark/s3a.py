"""The settings of S3A for repositories as `s3a://repository/branch/path`.

`docs/spark-s3a.md` explains each.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import Invalid
from anabranch.spark.java import provide_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["configure"]

_S3A = "spark.hadoop.fs.s3a."
_CLOUD = "org.apache.spark:spark-hadoop-cloud_2.13:4.1.2"
_JARS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath", "spark.remote")
"""With one of these settings, the caller provides the jars."""

_OUTPUT = {
    "spark.hadoop.mapreduce.outputcommitter.factory.scheme.s3a": (
        "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
    ),
    "spark.sql.sources.commitProtocolClass": (
        "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
    ),
    "spark.sql.parquet.output.committer.class": (
        "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter"
    ),
}


def configure(
    builder: SparkSession.Builder,
    endpoint: str,
    keys: tuple[str, str],
    *,
    repositories: Iterable[str] = (),
    packages: Iterable[str] = (),
) -> SparkSession.Builder:
    """Sets all that S3A needs to reach the server at `endpoint`, as `http://HOST:8000`, with an
    access key and its secret; returns the builder.

    What the builder has already stays as it is. With `repositories`, address and keys are for
    these alone, and all other buckets are elsewhere. The jars are asked for too, and `packages`
    beside them (`spark.jars.packages`), unless the builder says where jars are. Where there
    is no Java, that of the extra `spark-jdk` is used, by this process's JAVA_HOME.

    Raises Invalid for an address that is none.
    """
    if not endpoint.startswith(("http://", "https://")):
        raise Invalid(f"{endpoint}: not a server's address", hint="Begin it with http(s)://.")
    provide_java(os.environ)  # Spark's launcher can be told by the environment alone
    # the options of a builder are not public; classic and Connect both store them here
    given: Mapping[str, object] = getattr(builder, "_options", {})
    settings = {**_access(endpoint, keys, list(repositories)), **_OUTPUT}
    settings[f"{_S3A}committer.name"] = "magic"
    if not any(name in given for name in _JARS):
        wanted = ",".join((*_packages(), *packages))
        settings |= {"spark.jars.packages": wanted} if wanted else {}
    for name, value in settings.items():
        if name not in given:
            builder = builder.config(name, value)
    return builder


def _access(endpoint: str, keys: tuple[str, str], repositories: list[str]) -> Mapping[str, str]:
    """Returns the settings of address and keys, for all buckets or for some of them."""
    access_key_id, secret_access_key = keys
    access = {
        "endpoint": endpoint.rstrip("/"),
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": str(endpoint.startswith("https://")).lower(),
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
        "access.key": access_key_id,
        "secret.key": secret_access_key,
    }
    places = [f"{_S3A}bucket.{name}." for name in repositories] or [_S3A]
    return {f"{place}{name}": value for place in places for name, value in access.items()}


def _packages() -> list[str]:
    """Returns the packages that Spark must download for S3A, for the Hadoop of PySpark; none if
    that is unknown or S3A is installed.
    """
    found = importlib.util.find_spec("pyspark")
    places = (found.submodule_search_locations if found else None) or []
    for jars in (Path(place, "jars") for place in places):
        if any(jars.glob("hadoop-aws-*.jar")):
            return []
        for jar in jars.glob("hadoop-client-api-*.jar"):
            version = jar.stem.removeprefix("hadoop-client-api-")
            return [f"org.apache.hadoop:hadoop-aws:{version}", _CLOUD]
    return []
