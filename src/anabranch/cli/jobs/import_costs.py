"""The time that engines take to import a listing, by measured costs per row.

The costs are those of 20,000,000 unsorted rows of 140 bytes (`benchmarks/README.md`, runs of
`bench_import.py --listed` and `bench_spark_import.py`). In one process, reading and partitioning
takes one core, and up to four threads sort. Spark's work is divided among all cores, after the
start of its session and of its workers.
"""

from __future__ import annotations

import os
import re

__all__ = ["BYTES_PER_ROW", "local_seconds", "spark_cores", "spark_seconds"]

BYTES_PER_ROW = 90
"""The size of such a row in a Parquet file."""

_READING, _SORTING = 0.9e-6, 2.6e-6
_SORTING_THREADS = 4
_SPARK, _SPARK_START = 10.2e-6, 20.0

_CLUSTER_CORES = 16
"""The assumed number of cores of a cluster, which is known only when its session has started."""

_LOCAL_MASTER = re.compile(r"local(?:\[(\*|\d+)(?:,\d+)?\])?")


def local_seconds(rows: int, cores: int) -> float:
    """Returns the estimated time in this process, on a machine with this many cores."""
    return rows * (_READING + _SORTING / min(cores, _SORTING_THREADS))


def spark_seconds(rows: int, cores: int) -> float:
    """Returns the estimated time on Spark with this many cores."""
    return _SPARK_START + rows * _SPARK / cores


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
