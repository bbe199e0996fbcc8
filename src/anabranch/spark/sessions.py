"""Spark sessions of the command line and of jobs that `spark-submit` starts.

Spark's driver is a Java process. If it is killed, PySpark raises errors of connections to it, which
say nothing about the cause: `session` raises one that does.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError, Busy, Invalid
from anabranch.lake.spark.java import provide_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["require_spark", "session"]

_EXIT_SECONDS = 5.0
"""The time for which a Java process that closed its connections is waited for."""
_CONNECT_SECONDS = 5.0


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
    master is the one given to `spark-submit`. Raises the errors of `require_spark`, and Busy (kind
    java_ended) if the job fails because the Java process of the session has ended.
    """
    require_spark(environment)
    environment.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession  # noqa: PLC0415  an extra, and slow to import

    active = SparkSession.getActiveSession()
    if active is not None:
        with _explain_java_end(active):
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
        with _explain_java_end(new):
            yield new
    finally:
        if _java_end(new, wait=False) is None:
            new.stop()


@contextmanager
def _explain_java_end(session: SparkSession) -> Iterator[None]:
    """Raises Busy in place of an error if the Java process of a session has ended."""
    try:
        yield
    except AnabranchError:
        raise
    except Exception as error:
        end = _java_end(session)
        if end is None:
            raise
        raise Busy(
            f"the Java process of Spark has ended ({end}) before the job was done",
            kind="java_ended",
            hint="The job can be run again. If the system has killed the process for lack of "
            "memory, which dmesg shows, give it less (spark.driver.memory), or the machine more.",
        ) from error


def _java_end(session: SparkSession, *, wait: bool = True) -> str | None:
    """Returns how the Java process of a session has ended, or None if it runs or is not known, as
    with Spark Connect. With `wait`, a process that is about to end is waited for.
    """
    gateway: Any = getattr(getattr(session, "_sc", None), "_gateway", None)
    if gateway is None:
        return None
    process = getattr(gateway, "proc", None)
    if process is None:  # spark-submit has started this process, and not the other way round
        return None if _listens(gateway) else "it does not accept connections"
    if wait and not _listens(gateway):
        with suppress(subprocess.TimeoutExpired):
            process.wait(_EXIT_SECONDS)
    code = process.poll()
    if code is None:
        return None
    return f"killed by {_signal_name(-code)}" if code < 0 else f"exit code {code}"


def _listens(gateway: Any) -> bool:
    """Returns whether the Java process of a gateway accepts connections."""
    parameters = gateway.gateway_parameters
    try:
        socket.create_connection((parameters.address, parameters.port), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
