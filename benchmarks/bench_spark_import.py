"""Benchmarks imports by Spark: a shuffled listing of many objects, to an empty branch.

    python benchmarks/bench_spark_import.py                        1,000,000 objects, a minute
    python benchmarks/bench_spark_import.py --objects 20000000

Prints for each import the wall time, the processor time of Spark, its Python workers and this
program, the objects a second of both times, and the peak memory of all processes. The first import
includes the warm-up of Java. Spark runs with two threads in one Java process. Needs Java.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from proc_stats import cpu_seconds, memory_mib
from support.services.spark import spark_session

import anabranch.spark

if TYPE_CHECKING:
    from collections.abc import Callable

IMPORTS = 2
SAMPLING_INTERVAL = 0.5
"""The seconds between measurements of memory."""


class Peak:
    """The peak memory of this process and its descendants, in MiB."""

    def __init__(self) -> None:
        self.resident = 0.0
        self._done = threading.Event()
        self._sampler = threading.Thread(target=self._sample)

    def _sample(self) -> None:
        while not self._done.wait(SAMPLING_INTERVAL):
            try:
                self.resident = max(self.resident, memory_mib(os.getpid())[0])
            except OSError:
                continue  # a worker ended during the measurement

    def __enter__(self) -> Self:
        self._sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._sampler.join()


def measure(name: str, objects: int, work: Callable[[], object]) -> None:
    used, start = cpu_seconds(os.getpid()), time.perf_counter()
    with Peak() as peak:
        work()
    wall, cpu = time.perf_counter() - start, cpu_seconds(os.getpid()) - used
    rates = f"{objects / wall:12,.0f} {objects / cpu:14,.0f}"
    print(f"{name:34} {wall:7.2f} s {cpu:7.2f} s {rates} {peak.resident:7.0f} MiB", flush=True)


def main() -> None:
    """Prints a line for each import."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--memory", default="3g", help="the heap size of Java")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # overrides settings for short tests
        settings = {
            "spark.driver.extraJavaOptions": "",
            "spark.driver.memory": arguments.memory,
            "spark.sql.shuffle.partitions": "200",
        }
        with (
            anabranch.open(folder / "lake") as lake,
            spark_session(settings, jars=folder / "none", folder=folder) as spark,
        ):
            lake.repositories.create("events", "local://events")
            lake.branches.create("events", "empty", "main")
            file = str(folder / "listing")
            spark.range(arguments.objects).selectExpr(
                "concat('warehouse/day=', lpad(pmod(id * 7919, 997), 5, '0'), '/part-', "
                "lpad(id, 9, '0'), '.parquet') AS path",
                "concat('local://raw/', md5(string(id))) AS physical_address",
                "id AS size",
                "md5(string(id + 1)) AS checksum",
                "timestamp_seconds(1700000000 + id) AS last_modified",
            ).orderBy("checksum").write.parquet(file)
            print(f"{'':34}      time       CPU    objects/s  objects/s CPU      memory")
            for number in range(1, IMPORTS + 1):
                name = lake.branches.create("events", f"listed-{number}", "empty").id
                measure(
                    f"import {number}",
                    arguments.objects,
                    lambda name=name: anabranch.spark.import_listing(
                        *(lake, "events", name, spark.read.parquet(file)), verify="none"
                    ),
                )


if __name__ == "__main__":
    main()
