"""Spark sessions of the command line and of jobs new by `spark-submit`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anabranch.errors import Invalid
from anabranch.spark.java import provide_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["require_spark", "session"]


def require_spark(environment: MutableMapping[str, str]) -> None:
    """Checks that a process with this environment can start Spark; may set JAVA_HOME in it. Raises
    Invalid if PySpark or Java is missing, with a hint how to install it.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise Invalid(
            "PySpark is not installed",
            kind="extra_missing",
            hint="pip install 'anabranch[spark]', or choose --engine local.",
        )
    provide_java(environment)
    home = environment.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else "java"
    if shutil.which(java, path=environment.get("PATH")) is None:
        raise Invalid(
            f"Spark needs Java, which was not found{f' (JAVA_HOME is {home})' if home else ''}",
            kind="java_missing",
            hint="pip install 'anabranch[spark-jdk]', or set JAVA_HOME to a Java 17 or 21.",
        )


@contextmanager
def session(
    master: str = "", environment: MutableMapping[str, str] = os.environ
) -> Iterator[SparkSession]:
    """Gives the active session, or a new one that is stopped when the context ends. The default
    master is the one given to `spark-submit`. Raises the errors of `require_spark`.
    """
    require_spark(environment)
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession  # noqa: PLC0415  an extra, and slow to import

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    # its progress bar would overwrite that of the command
    builder = SparkSession.builder.appName("anabranch").config(
        "spark.ui.showConsoleProgress", "false"
    )
    if master:
        builder = builder.master(master)
    new = builder.getOrCreate()
    try:
        yield new
    finally:
        new.stop()
