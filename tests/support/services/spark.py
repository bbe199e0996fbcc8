"""A Spark session for tests: one small local Java process, stopped afterwards.

A Python process has one session at a time, and starting it takes seconds, so tests share one. The
settings of S3A are those of `docs/spark-s3a.md`: `settings_of` reads them from that page, so that
tests use the documented settings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.testing.server import Server
from support.session.spark_workers import spark_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["iceberg_settings", "settings_of", "spark_session"]

_BLOCK = re.compile(r"^```properties\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def settings_of(page: Path, server: Server) -> dict[str, str]:
    """Returns the settings in the first properties block of a page, with the URL and the keys of a
    server in place of `http://HOST:8000`, `ACCESS_KEY_ID` and `SECRET_ACCESS_KEY`.
    """
    block = _BLOCK.search(page.read_text(encoding="utf-8"))
    assert block is not None, f"{page} has no properties block"
    filled = (
        block[1]
        .replace("http://HOST:8000", server.url)
        .replace("SECRET_ACCESS_KEY", server.secret_access_key)
        .replace("ACCESS_KEY_ID", server.access_key_id)
    )
    lines = (line.split(maxsplit=1) for line in filled.splitlines() if line.strip())
    return {name: value for name, value in lines if not name.startswith("#")}


def iceberg_settings(jars: Path) -> dict[str, str]:
    """Returns what makes Spark know Iceberg's words, such as `CREATE TAG`, if the folder has the
    library for this version of Spark.
    """
    version = ".".join(metadata.version("pyspark").split(".")[:2])
    if not list(jars.glob(f"iceberg-spark-runtime-{version}_*.jar")):
        return {}
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    return {"spark.sql.extensions": extensions}


@contextmanager
def spark_session(
    settings: Mapping[str, str], *, jars: Path, folder: Path
) -> Iterator[SparkSession]:
    """Gives a session with two threads in a new Java process, and stops both afterwards.

    `jars` is a folder whose jars are added to the class path; Spark writes temporary files to
    `folder`. `settings` override the settings for tests.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with _environment(folder):
        builder = SparkSession.builder.master("local[2]").appName("anabranch tests")
        for name, value in {**_settings(jars, folder), **settings}.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    gateway = SparkContext._gateway
    try:
        yield session
    finally:
        session.stop()
        assert gateway is not None
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


def _settings(jars: Path, folder: Path) -> dict[str, str]:
    return {
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": f"{jars}/*",
        "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Djava.io.tmpdir={folder}",
        "spark.hadoop.hadoop.tmp.dir": str(folder / "hadoop"),
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.liveUpdate.period": "0",  # update the status of stages immediately
        "spark.ui.showConsoleProgress": "false",
    }


@contextmanager
def _environment(folder: Path) -> Iterator[None]:
    """Sets the variables that Spark reads at its start: tasks run in the Python of the tests, and
    the user's configuration of Spark is ignored.
    """
    variables = {
        "PYSPARK_PYTHON": spark_python(folder),
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
