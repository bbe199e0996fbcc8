"""Spark sessions for callers without one: commands, and `spark-submit`."""

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
    """Checks that Spark can be started by a process with this environment, and may set JAVA_HOME in
    it. Raises Invalid, which names what is missing and how to install it.
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
    """Gives the active session, or a new one, which is stopped afterwards. The default master is
    that of `spark-submit`. Raises the errors of `require_spark`.
    """
    require_spark(environment)
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession  # noqa: PLC0415  an extra, and slow to import

    going_on = SparkSession.getActiveSession()
    if going_on is not None:
        yield going_on
        return
    # its progress bar would overwrite that of the command
    builder = SparkSession.builder.appName("anabranch").config(
        "spark.ui.showConsoleProgress", "false"
    )
    if master:
        builder = builder.master(master)
    started = builder.getOrCreate()
    try:
        yield started
    finally:
        started.stop()
