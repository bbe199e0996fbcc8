"""Benchmarks garbage collection on Spark: a listing with many dead objects, and a small driver.

    python benchmarks/bench_spark_gc.py --listed 2000000                   a few minutes
    python benchmarks/bench_spark_gc.py --listed 50000000 --memory 1g

The listing is a DataFrame, as from an inventory, so neither the time of the store's own listing nor
that of its removals is included. The references are the commits of a real repository, which refer
to three fifths of the listed objects. The first run reads all ranges, the second uses the kept
marks. Prints for each run the wall time, the processor time of all processes, the listed objects a
second, the rows that the driver received, and the peak memory of this process and of Java. Spark
runs with two threads in the driver's Java process. Needs Java.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from bench_gc import BATCH, fill, listing
from proc_stats import cpu_seconds
from support.driver_rows import driver_rows
from support.services.spark import spark_session

import anabranch
from anabranch.pipelines.garbage.addresses.listing import LISTING
from anabranch.pipelines.garbage.collector import Collector
from anabranch.spark.jobs.garbage import SparkEngine

FILES = 64
MAX_RESULT = "16m"
"""The largest total of results that the driver accepts from the tasks of a stage."""


def write_inventory(folder: Path, listed: int) -> None:
    """Writes the listing to several Parquet files."""
    folder.mkdir()
    per_file = -(-listed // FILES // BATCH) or 1
    batches = listing(listed)
    for number in range(FILES):
        rows = [batch for _, batch in zip(range(per_file), batches, strict=False)]
        if rows:
            table = pa.Table.from_batches(rows, schema=LISTING)
            pq.write_table(table, folder / f"{number}.parquet", compression="zstd")


def write_input(folder: Path, listed: int, referenced: int) -> None:
    """Writes the lake and the inventory, and prints their sizes."""
    with anabranch.open(folder / "lake") as lake:
        tables = fill(lake, "sea", referenced)
    write_inventory(folder / "inventory", listed)
    print(f"{listed:,} listed, {referenced:,} referenced, {tables:,} tables", flush=True)


def peak_mib(pid: int) -> float:
    """Returns the peak memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def java_process() -> int:
    """Returns the id of the driver's Java process."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="utf-8").split()
    for child in map(int, children):
        if "java" in Path(f"/proc/{child}/comm").read_text(encoding="utf-8"):
            return child
    raise LookupError("Java does not run")


def main() -> None:
    """Prints a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listed", type=int, default=2_000_000)
    parser.add_argument("--memory", default="1g", help="the heap size of Java")
    parser.add_argument("--partitions", default="32", help="the partitions of a shuffle")
    arguments = parser.parse_args()
    listed = arguments.listed
    referenced = listed * 3 // 5
    settings = {
        "spark.driver.memory": arguments.memory,
        "spark.driver.extraJavaOptions": "",
        "spark.sql.shuffle.partitions": arguments.partitions,
    }
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary:
        folder = Path(temporary)
        # another process, so that its memory is not counted
        sizes = folder, listed, referenced
        writing = get_context("spawn").Process(target=write_input, args=sizes)
        writing.start()
        writing.join()
        if writing.exitcode:
            raise SystemExit(writing.exitcode)
        with (
            anabranch.open(folder / "lake") as lake,
            spark_session(settings, jars=folder / "none", folder=folder) as spark,
        ):
            print(
                f"{'':<20} {'s':>7} {'CPU s':>7} {'k/s':>6} {'rows':>6} {'Python':>7} {'Java':>6}"
            )
            collector = Collector(lake.core, lake.blocks, folder / "gc", clock=time.time)
            for name in ("every range is read", "marks are reused"):
                given = spark.read.parquet(str(folder / "inventory"))
                began, used = time.perf_counter(), cpu_seconds(os.getpid())
                with (
                    driver_rows(spark, MAX_RESULT) as received,
                    collector.mark("sea", engine=SparkEngine(spark, listing=given)) as run,
                ):
                    wall = time.perf_counter() - began
                    cpu = cpu_seconds(os.getpid()) - used
                    assert run.summary.candidates.objects == listed - referenced
                print(
                    f"{name:<20} {wall:>7.1f} {cpu:>7.1f} {listed / wall / 1e3:>6.0f} "
                    f"{received.total:>6} {peak_mib(os.getpid()):>7.0f} "
                    f"{peak_mib(java_process()):>6.0f}",
                    flush=True,
                )
                time.sleep(1.1)  # runs of one second do not know each other's order


if __name__ == "__main__":
    main()
