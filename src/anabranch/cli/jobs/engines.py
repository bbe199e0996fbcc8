"""Engines that run a long job, and the options that select them.

`server` is the server; `local` is this process with the server's settings, with or without a
running server; `spark` is a Spark session that is started for the job.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from anabranch.cli.framework.command import Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.streams import Output

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.server.config.loader import Loaded
    from anabranch.spark.sources.stores import Opener

__all__ = [
    "MASTER",
    "EngineChoice",
    "announce",
    "engine_option",
    "opener",
    "spark",
]

_SPARK_LOG = "anabranch.spark"

MASTER = Option(
    "--master", "The Spark master: local[4], spark://HOST:7077, yarn, …", "URL", default=""
)


class EngineChoice(NamedTuple):
    """An engine, and the reason for its choice."""

    engine: str
    why: str


def engine_option(*engines: str) -> Option:
    """Returns the option that selects one of these engines. The command chooses its default."""
    return Option(
        "--engine",
        "The engine that runs the job",
        "ENGINE",
        choices=("auto", *engines),
        default="auto",
    )


def announce(context: CommandContext, choice: EngineChoice) -> None:
    """Prints the engine and the reason, if it was not selected by an option."""
    if context.arguments.engine == "auto":
        context.output.note(f"engine: {choice.engine}, {choice.why}")


@contextmanager
def spark(context: CommandContext) -> Iterator[SparkSession]:
    """Yields a Spark session, and prints the log of the job: when a phase begins and ends, and what
    its tasks have used. Raises Invalid if PySpark or Java is missing.
    """
    from anabranch.spark.sessions import session  # noqa: PLC0415  an extra

    with session(context.arguments.master, os.environ) as started, _print_log(context):
        yield started


@contextmanager
def _print_log(context: CommandContext) -> Iterator[None]:
    """Prints the log of jobs on Spark while the context is entered, as schedulers keep it. On a
    terminal, there is a bar instead.
    """
    output = context.output
    if output.err_terminal or vars(context.arguments).get("no_progress"):
        yield
        return
    log, handler = logging.getLogger(_SPARK_LOG), _NoteHandler(output)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(level)
        log.removeHandler(handler)


class _NoteHandler(logging.Handler):
    """Prints each line of a log as a note."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Prints a line."""
        self._output.note(record.getMessage())


def opener(loaded: Loaded) -> Opener | None:
    """Returns a function that opens the store of a server's settings in Spark's workers; None for a
    folder, which must have the same path on all workers.
    """
    if loaded.settings.blockstore.type == "local":
        return None
    from anabranch.server.stores.block_stores import open_blocks  # noqa: PLC0415

    return partial(open_blocks, loaded.settings.blockstore)
