"""The time that engines take for a job, by measured costs, and the choice between them.

Costs are processor times, of the commands that stand beside them; the runs are those of
`benchmarks/README.md`. In one process, a part of the work takes one core, and the rest is divided
among a few threads. Spark's work is divided among all its cores, after the start of its session and
of its workers. Waiting for a store is not included, for either engine.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable
from typing import NamedTuple

from anabranch.cli.framework.context import CommandContext
from anabranch.cli.jobs.engines import EngineChoice
from anabranch.errors import AnabranchError

__all__ = [
    "BYTES_PER_ROW",
    "COLLECTION",
    "EXPORT",
    "IMPORT",
    "Amount",
    "JobCosts",
    "choose_engine",
    "spark_cores",
]

BYTES_PER_ROW = 90
"""The size of a row of a listing in a Parquet file."""

_SPARK_START = 20.0
"""The seconds until a session and its workers have started."""

_CLUSTER_CORES = 16
"""The assumed number of cores of a cluster, which is known only when its session has started."""

_LOCAL_MASTER = re.compile(r"local(?:\[(\*|\d+)(?:,\d+)?\])?")


class Amount(NamedTuple):
    """The size of a job: items, bytes that it copies, and a description such as "2 MiB"."""

    items: int
    bytes: int
    text: str


class JobCosts(NamedTuple):
    """Seconds of processor time: in this process, for each item on one core (`serial`) and divided
    among up to `threads` cores (`parallel`, and `local_byte` for each byte); on Spark for each item
    (`spark`) and each byte (`spark_byte`).
    """

    serial: float
    parallel: float
    threads: int
    spark: float
    local_byte: float = 0.0
    spark_byte: float = 0.0

    def local_seconds(self, items: int, cores: int, size: int = 0) -> float:
        """Returns the estimated time in this process, on a machine with this many cores."""
        divided = items * self.parallel + size * self.local_byte
        return items * self.serial + divided / min(cores, self.threads)

    def spark_seconds(self, items: int, cores: int, size: int = 0) -> float:
        """Returns the estimated time on Spark with this many cores."""
        return _SPARK_START + (items * self.spark + size * self.spark_byte) / cores


# bench_import.py --listed 20000000 and bench_spark_import.py --objects 20000000: unsorted rows of
# 140 bytes; in one process, reading and partitioning take one core, and sorting up to four
IMPORT = JobCosts(serial=0.9e-6, parallel=2.6e-6, threads=4, spark=10.2e-6)
"""The costs of a row of a listing that is imported."""

# bench_engines.py --objects 50000: 50,000 objects of 1 KiB and 32 of 8 MiB, to a folder. Threads
# share Python for 50 µs of an object; the system's part and the checksums of bytes are divided
EXPORT = JobCosts(
    serial=50e-6, parallel=84e-6, threads=8, spark=275e-6, local_byte=2.9e-9, spark_byte=5.3e-9
)
"""The costs of an object that is exported, and of its bytes."""

# bench_engines.py: listing takes 6.4 µs for either engine, and this process lists in one thread;
# bench_gc.py: 0.4 µs for comparing; bench_spark_gc.py --listed 50000000: 4.8 µs
COLLECTION = JobCosts(serial=6.8e-6, parallel=0.0, threads=1, spark=11.2e-6)
"""The costs of an object that a garbage collection lists, and compares with the references."""


def choose_engine(
    context: CommandContext, costs: JobCosts, amount: Callable[[], Amount | str]
) -> EngineChoice:
    """Returns the engine of the options or, if they leave the choice, the one that is expected to
    be faster for an amount. It is this process if there is a reason in place of an amount, or an
    error, which the job then reports.
    """
    given = context.arguments
    if given.engine != "auto":
        return EngineChoice(given.engine, "as requested")
    try:
        found = amount()
    except AnabranchError:
        found = "because the size of the job cannot be found"
    if isinstance(found, str):
        return EngineChoice("local", found)
    cores = spark_cores(given.master)
    here = costs.local_seconds(found.items, os.cpu_count() or 1, found.bytes)
    there = costs.spark_seconds(found.items, cores, found.bytes)
    estimate = (
        f"for {found.text} in about {here:,.0f} s, and in {there:,.0f} s on Spark"
        f" with {cores} core{'' if cores == 1 else 's'}"
    )
    if here <= there:
        return EngineChoice("local", estimate)
    if importlib.util.find_spec("pyspark") is None:
        return EngineChoice("local", f"{estimate}, but PySpark is not installed")
    return EngineChoice("spark", estimate.replace("for", "instead of in this process, for", 1))


def spark_cores(master: str) -> int:
    """Returns the number of cores of a Spark master, which is this machine without a name."""
    own = os.cpu_count() or 1
    if not master:
        return own
    match = _LOCAL_MASTER.fullmatch(master)
    if match is None:
        return _CLUSTER_CORES
    threads = match[1]
    return min(own, int(threads)) if threads and threads != "*" else own if threads else 1
