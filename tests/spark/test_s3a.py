"""`configure` sets the settings of docs/spark-s3a.md and keeps existing ones."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession
from support.services.spark import settings_of

import anabranch.spark
from anabranch.errors import Invalid

PAGE = Path(__file__).parents[2] / "docs" / "spark-s3a.md"
KEYS = ("AKID", "secret")
RELEASE = ".".join(version("pyspark").split(".")[:2])
S3A = "spark.hadoop.fs.s3a."


def settings(endpoint="http://somewhere:8000", given=None, **options):
    """Returns the settings of a builder."""
    builder = SparkSession.Builder()
    for name, value in (given or {}).items():
        builder = builder.config(name, value)
    assert anabranch.spark.configure(builder, endpoint, KEYS, **options) is builder
    return dict(builder._options)


def test_configure_sets_the_documented_settings():
    served = SimpleNamespace(
        url="http://somewhere:8000", access_key_id=KEYS[0], secret_access_key=KEYS[1]
    )
    (packages,) = re.findall(
        r"^ *spark.jars.packages (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    actual = settings()
    if RELEASE != "4.1":  # the documented one; others include another Hadoop
        hadoop = re.compile(r"(?<=hadoop-aws:)[^,]+")
        packages = hadoop.sub(hadoop.search(actual["spark.jars.packages"])[0], packages)
        packages = packages.replace(":4.1.2", f":{version('pyspark')}")
    assert actual == settings_of(PAGE, served) | {
        f"{S3A}connection.ssl.enabled": "false",
        "spark.jars.packages": packages,
    }


def test_configure_keeps_existing_settings():
    given = {
        f"{S3A}committer.name": "directory",
        f"{S3A}endpoint.region": "eu-west-1",
        "spark.sql.sources.commitProtocolClass": "mine",
        "spark.driver.extraClassPath": "/jars/*",
    }
    actual = settings(given=given)
    assert given.items() <= actual.items()
    assert "spark.jars.packages" not in actual
    assert actual[f"{S3A}access.key"] == KEYS[0]


def test_configure_adds_packages():
    plain = settings()["spark.jars.packages"]
    package = f"io.delta:delta-spark_{RELEASE}_2.13:4.4.0"
    actual = settings(packages=[package])
    assert actual["spark.jars.packages"] == f"{plain},{package}"


@pytest.mark.parametrize(
    "name",
    [
        "io.delta:delta-spark_{}_2.13:4.4.0",
        "org.apache.iceberg:iceberg-spark-runtime-{}_2.13:1.12.0",
    ],
)
def test_package_for_another_release_of_spark_is_refused(name):
    builder = SparkSession.Builder()
    with pytest.raises(Invalid, match=r"is for Spark 3\.5, but PySpark") as caught:
        anabranch.spark.configure(
            builder, "http://somewhere:8000", KEYS, packages=[name.format("3.5")]
        )
    assert caught.value.kind == "wrong_spark"
    assert "pip install 'pyspark==3.5.*'" in caught.value.hint
    assert builder._options == {}


@pytest.mark.parametrize(
    "package", ["org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1", "io.delta:delta-core", "x"]
)
def test_package_whose_name_has_no_release_of_spark_is_accepted(package):
    assert settings(packages=[package])["spark.jars.packages"].endswith(f",{package}")


def test_configure_enables_tls_for_https():
    actual = settings("https://somewhere/")
    assert actual[f"{S3A}endpoint"] == "https://somewhere"
    assert actual[f"{S3A}connection.ssl.enabled"] == "true"
    with pytest.raises(Invalid):
        settings("somewhere:8000")


def test_configure_for_repositories_sets_only_their_buckets():
    actual = settings(repositories=["sea", "rides"])
    plain = settings()
    for name in ("endpoint", "access.key", "secret.key", "path.style.access"):
        assert f"{S3A}{name}" not in actual
        for repository in ("sea", "rides"):
            assert actual[f"{S3A}bucket.{repository}.{name}"] == plain[f"{S3A}{name}"]


def test_catalogs_are_references():
    actual = settings(catalogs={"lake": "sea/main", "old": "lakefs://sea/v1"})
    lake, old = "spark.sql.catalog.lake", "spark.sql.catalog.old"
    assert actual[lake] == actual[old] == "org.apache.iceberg.spark.SparkCatalog"
    assert actual[f"{lake}.warehouse"] == "lakefs://sea/main"
    assert actual[f"{old}.warehouse"] == "lakefs://sea/v1"
    assert actual[f"{old}.uri"] == "http://somewhere:8000/iceberg"
    assert re.search(
        rf",org\.apache\.iceberg:iceberg-spark-runtime-{RELEASE}_2\.1[23]:",
        actual["spark.jars.packages"],
    )
    mine = f"org.apache.iceberg:iceberg-spark-runtime-{RELEASE}_2.13:1.10.0"
    other = settings(catalogs={"lake": "sea/main"}, packages=[mine])
    assert other["spark.jars.packages"].count("iceberg-spark-runtime") == 1
    assert {name for name in settings() if "catalog" in name} == set()


def test_catalogs_keep_what_the_builder_has():
    given = {"spark.sql.extensions": "mine", "spark.sql.catalog.lake.cache-enabled": "true"}
    actual = settings(given=given, catalogs={"lake": "sea/main"})
    iceberg = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    assert actual["spark.sql.extensions"] == f"mine,{iceberg}"
    assert actual["spark.sql.catalog.lake.cache-enabled"] == "true"
    again = settings(given=actual, catalogs={"lake": "sea/main"})
    assert again["spark.sql.extensions"] == f"mine,{iceberg}"


@pytest.mark.parametrize(
    ("name", "reference"),
    [("a.b", "sea/main"), ("", "sea/main"), ("lake", "sea"), ("lake", "sea/main/x"), ("lake", "")],
)
def test_what_is_no_catalog_is_refused(name, reference):
    builder = SparkSession.Builder()
    with pytest.raises(Invalid):
        anabranch.spark.configure(
            builder, "http://somewhere:8000", KEYS, catalogs={name: reference}
        )
    assert builder._options == {}


def test_spark_redacts_the_keys():
    """Spark redacts settings whose names match this pattern."""
    redacted = re.compile("(?i)secret|password|token|access[.]?key")
    assert {name for name, value in settings().items() if value in KEYS} == {
        name for name in settings() if redacted.search(name)
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_session_reads_and_writes_with_these_settings_only(repository, server, tmp_path):
    jars = Path(__file__).parents[2] / ".components" / "jars"
    if not jars.is_dir():
        pytest.skip("Spark needs the jars that `make components` fetches")
    program = f"""
import anabranch.spark
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.extraClassPath", "{jars}/*")
spark = anabranch.spark.configure(builder, "{server.url}", {server.auth!r}).getOrCreate()
spark.range(5).write.parquet("s3a://{repository.id}/main/five")
print("rows", spark.read.parquet("s3a://{repository.id}/main/five").count())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "rows 5" in done.stdout
