"""Settings of S3A with which Spark reads and writes `s3a://repository/branch/path`.

`docs/spark-s3a.md` explains each setting.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from anabranch.errors import Invalid
from anabranch.lake.spark.catalogs import EXTENSIONS, RUNTIME, catalog_settings, iceberg_package
from anabranch.lake.spark.java import provide_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["configure", "settings_for"]

_S3A = "spark.hadoop.fs.s3a."
_CLOUD_PACKAGE = "org.apache.spark:spark-hadoop-cloud_2.13"
_CLOUD_VERSIONS = {"4.1": "4.1.2"}
"""The versions with which this project is tested, by the release of Spark, in place of Spark's."""

_OF_RELEASE = re.compile(r"[^:]*spark[a-z-]*[-_]?(?P<release>\d+\.\d+)[-_][^:]*")
"""The name of a package for one release of Spark: `delta-spark_4.1_2.13`."""
_JAR_SETTINGS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath", "spark.remote")
"""If one of these settings is present, the caller provides the jars."""

_NOTHING: Mapping[str, object] = MappingProxyType({})

_COMMITTER_SETTINGS = {
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
    catalogs: Mapping[str, str] | None = None,
) -> SparkSession.Builder:
    """Adds the settings with which S3A reaches the server at `endpoint`, such as
    `http://HOST:8000`. `keys` are the access key id and the secret access key. Returns the builder.

    Settings that the builder has already are not changed. With `repositories`, endpoint and keys
    apply to these buckets only, and other buckets stay at their own endpoints. Unless the builder
    has a setting for jars, `spark.jars.packages` is set to the jars of S3A and to `packages`. If
    the machine has no Java, JAVA_HOME of this process is set to the one of the extra `spark-jdk`.

    `catalogs` are catalogs of Iceberg tables: `{"lake": "sea/main"}` makes `lake.city.trips` the
    table `city.trips` on the branch main of the repository sea. Iceberg's extensions are added to
    the builder's, and its package to `packages`, unless that is among them.

    Raises Invalid if `endpoint` is not an HTTP URL, if one of the packages is for another release
    of Spark than PySpark's, or for a catalog that is no name and reference.
    """
    # not public, but the builders of classic Spark and of Connect both store their options here
    existing: Mapping[str, object] = getattr(builder, "_options", {})
    settings = settings_for(
        *(endpoint, keys),
        repositories=repositories,
        packages=packages,
        catalogs=catalogs,
        existing=existing,
    )
    provide_java(os.environ)  # Spark's launcher reads the environment only
    for name, value in settings.items():
        if name not in existing or name == EXTENSIONS:  # which has the builder's own before it
            builder = builder.config(name, value)
    return builder


def settings_for(
    endpoint: str,
    keys: tuple[str, str],
    *,
    repositories: Iterable[str] = (),
    packages: Iterable[str] = (),
    catalogs: Mapping[str, str] | None = None,
    existing: Mapping[str, object] = _NOTHING,
) -> dict[str, str]:
    """Returns the settings that `configure` adds to a builder with the `existing` ones."""
    if not endpoint.startswith(("http://", "https://")):
        raise Invalid(f"{endpoint}: not the URL of a server", hint="Use http://… or https://….")
    packages = list(packages)
    _require_release(packages)
    tables = catalog_settings(catalogs or {}, endpoint, keys, existing)
    if tables and not any(RUNTIME in package for package in packages):
        packages.append(iceberg_package(_release()))
    settings = {**_access(endpoint, keys, list(repositories)), **_COMMITTER_SETTINGS}
    settings[f"{_S3A}committer.name"] = "magic"
    if not any(name in existing for name in _JAR_SETTINGS):
        jars = ",".join((*_packages(), *packages))
        settings |= {"spark.jars.packages": jars} if jars else {}
    return settings | tables


def _access(endpoint: str, keys: tuple[str, str], repositories: list[str]) -> Mapping[str, str]:
    """Returns the settings of the endpoint and the keys, for all buckets or for repositories."""
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
    prefixes = [f"{_S3A}bucket.{name}." for name in repositories] or [_S3A]
    return {f"{prefix}{name}": value for prefix in prefixes for name, value in access.items()}


def _packages() -> list[str]:
    """Returns the Maven packages of S3A, in the version of PySpark's Hadoop. Returns none if that
    version is unknown, or if PySpark's jars contain S3A already.
    """
    spec = importlib.util.find_spec("pyspark")
    locations = (spec.submodule_search_locations if spec else None) or []
    for jars in (Path(location, "jars") for location in locations):
        if any(jars.glob("hadoop-aws-*.jar")):
            return []
        for jar in jars.glob("hadoop-client-api-*.jar"):
            hadoop = jar.stem.removeprefix("hadoop-client-api-")
            cloud = _CLOUD_VERSIONS.get(_release(), _spark_version())
            return [f"org.apache.hadoop:hadoop-aws:{hadoop}", f"{_CLOUD_PACKAGE}:{cloud}"]
    return []


def _require_release(packages: Iterable[str]) -> None:
    """Raises Invalid for a package whose name is that of another release of Spark: with it, Spark
    fails in the middle of a job, with errors about missing methods or changed classes.
    """
    release = _release()
    for package in packages:
        match = _OF_RELEASE.fullmatch(package.partition(":")[2].partition(":")[0])
        if release and match is not None and match["release"] != release:
            wanted = match["release"]
            raise Invalid(
                f"{package}: this package is for Spark {wanted}, but PySpark {_spark_version()} is "
                "installed",
                kind="wrong_spark",
                hint=f"pip install 'pyspark=={wanted}.*', or take the package for Spark {release},"
                " if there is one.",
            )


def _release() -> str:
    """Returns the release of PySpark, such as "4.1"; an empty text without PySpark."""
    return ".".join(_spark_version().split(".")[:2])


def _spark_version() -> str:
    """Returns the version of PySpark; an empty text without PySpark."""
    for name in ("pyspark", "pyspark-client"):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""
