"""Engines: what does the work of a long job, and the options that choose it.

A `server` does it where it runs; `local` is this process, beside the server or without one, with
its settings; `spark` is a session of Spark, started for the job.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from anabranch.cli.call import Call
from anabranch.cli.command import Option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from anabranch.server.load_settings import Loaded
    from anabranch.spark.stores import Opener

__all__ = ["MASTER", "Chosen", "announce", "engine_option", "opener", "server_settings", "spark"]

MASTER = Option(
    "--master", "Where Spark runs: local[4], spark://HOST:7077, yarn, …", "URL", default=""
)


class Chosen(NamedTuple):
    """An engine, and why it was taken."""

    engine: str
    why: str


def engine_option(*engines: str) -> Option:
    """Returns the option that chooses among these, or leaves it to the command."""
    return Option(
        "--engine", "What does the work", "ENGINE", choices=("auto", *engines), default="auto"
    )


def announce(call: Call, chosen: Chosen) -> None:
    """Says which engine was taken and why, if nobody has asked for it."""
    if call.arguments.engine == "auto" and not call.output.json:
        call.output.note(f"engine: {chosen.engine}, {chosen.why}")


def server_settings(call: Call, data: str | None, config: str | None) -> Loaded:
    """Returns the settings of the server whose stores are to be opened. Raises Invalid."""
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.load_settings import load_settings  # noqa: PLC0415

    loaded = load_settings({"data": data}, os.environ, None if config is None else Path(config))
    for warning in loaded.warnings:
        call.output.note(warning)
    return loaded


@contextmanager
def spark(call: Call) -> Iterator[SparkSession]:
    """Gives a session of Spark. Raises Invalid where PySpark or Java is missing."""
    from anabranch.spark.sessions import session  # noqa: PLC0415  an extra

    with session(call.arguments.master, os.environ) as started:
        yield started


def opener(loaded: Loaded) -> Opener | None:
    """Returns how workers reach the store of a server's settings; None for a folder, which they
    must see at the same path.
    """
    if loaded.settings.blockstore.type == "local":
        return None
    from anabranch.server.block_stores import open_blocks  # noqa: PLC0415

    return partial(open_blocks, loaded.settings.blockstore)
