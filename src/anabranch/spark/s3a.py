"""S3A's settings: what Spark must be told to reach repositories as `s3a://repository/branch/path`.

`docs/spark-s3a.md` explains each.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["configure"]

_S3A = "spark.hadoop.fs.s3a."
_CLOUD = "org.apache.spark:spark-hadoop-cloud_2.13:4.1.2"
_JARS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath", "spark.remote")
"""Who sets one of these sees to the jars himself."""

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
) -> SparkSession.Builder:
    """Sets all that S3A needs to reach the server at `endpoint`, as `http://HOST:8000`, with an
    access key and its secret; returns the builder.

    What the builder has already stays as it is. With `repositories`, address and keys are for
    these alone, and all other buckets are elsewhere. The jars are asked for too
    (`spark.jars.packages`), unless the builder says where jars are or PySpark has them.

    Raises Invalid for an address that is none.
    """
    if not endpoint.startswith(("http://", "https://")):
        raise Invalid(f"{endpoint}: not the address of a server", hint="Begin it with http(s)://.")
    # there is no public way to ask a builder what it has; classic and Connect both keep it here
    given: Mapping[str, object] = getattr(builder, "_options", {})
    settings = {**_access(endpoint, keys, list(repositories)), **_OUTPUT}
    settings[f"{_S3A}committer.name"] = "magic"
    if not any(name in given for name in _JARS):
        settings.update(_packages())
    for name, value in settings.items():
        if name not in given:
            builder = builder.config(name, value)
    return builder


def _access(endpoint: str, keys: tuple[str, str], repositories: list[str]) -> Mapping[str, str]:
    """Returns the settings of address and keys, for all buckets or for some."""
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


def _packages() -> Iterator[tuple[str, str]]:
    """Yields the setting that has Spark fetch S3A, of the Hadoop that PySpark carries."""
    found = importlib.util.find_spec("pyspark")
    for place in (found.submodule_search_locations or []) if found else []:
        jars = Path(place, "jars")
        if any(jars.glob("hadoop-aws-*.jar")):
            return
        for jar in jars.glob("hadoop-client-api-*.jar"):
            version = jar.stem.removeprefix("hadoop-client-api-")
            yield "spark.jars.packages", f"org.apache.hadoop:hadoop-aws:{version},{_CLOUD}"
            return
