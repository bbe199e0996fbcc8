"""What S3A must be told: `configure` says what the page says, and leaves alone what is set."""

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
S3A = "spark.hadoop.fs.s3a."


def configured(endpoint="http://somewhere:8000", given=None, **options):
    """Returns the settings of a builder."""
    builder = SparkSession.Builder()
    for name, value in (given or {}).items():
        builder = builder.config(name, value)
    assert anabranch.spark.configure(builder, endpoint, KEYS, **options) is builder
    return dict(builder._options)


def test_it_sets_what_the_page_says():
    served = SimpleNamespace(
        url="http://somewhere:8000", access_key_id=KEYS[0], secret_access_key=KEYS[1]
    )
    (packages,) = re.findall(
        r"^ *spark.jars.packages (\S+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    found = configured()
    if not version("pyspark").startswith("4.1."):  # the page's; others carry another Hadoop
        hadoop = re.compile(r"(?<=hadoop-aws:)[^,]+")
        packages = hadoop.sub(hadoop.search(found["spark.jars.packages"])[0], packages)
    assert found == settings_of(PAGE, served) | {
        f"{S3A}connection.ssl.enabled": "false",
        "spark.jars.packages": packages,
    }


def test_it_changes_nothing_that_is_set():
    given = {
        f"{S3A}committer.name": "directory",
        f"{S3A}endpoint.region": "eu-west-1",
        "spark.sql.sources.commitProtocolClass": "mine",
        "spark.driver.extraClassPath": "/jars/*",
    }
    found = configured(given=given)
    assert given.items() <= found.items()
    assert "spark.jars.packages" not in found
    assert found[f"{S3A}access.key"] == KEYS[0]


def test_more_packages():
    plain = configured()["spark.jars.packages"]
    found = configured(packages=["io.delta:delta-spark_4.1_2.13:4.4.0"])
    assert found["spark.jars.packages"] == f"{plain},io.delta:delta-spark_4.1_2.13:4.4.0"


def test_addresses_with_tls():
    found = configured("https://somewhere/")
    assert found[f"{S3A}endpoint"] == "https://somewhere"
    assert found[f"{S3A}connection.ssl.enabled"] == "true"
    with pytest.raises(Invalid):
        configured("somewhere:8000")


def test_for_some_repositories_alone():
    found = configured(repositories=["sea", "rides"])
    plain = configured()
    for name in ("endpoint", "access.key", "secret.key", "path.style.access"):
        assert f"{S3A}{name}" not in found
        for repository in ("sea", "rides"):
            assert found[f"{S3A}bucket.{repository}.{name}"] == plain[f"{S3A}{name}"]


def test_its_keys_are_not_in_spark_s_own_listings():
    """Spark blots out settings whose names match its pattern; ours must be such names."""
    hidden = re.compile("(?i)secret|password|token|access[.]?key")
    assert {name for name, value in configured().items() if value in KEYS} == {
        name for name in configured() if hidden.search(name)
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_session_of_its_own(repository, server, tmp_path):
    """A builder that is told nothing else reaches the server, in a process of its own."""
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
