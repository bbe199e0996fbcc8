"""Times `anabranch.spark.merge_tables`, beside Spark's full outer join of the same three tables.

    python benchmarks/bench_spark_merge.py --rows 1000000

The tables are those of `bench_row_merge.py`. Prints medians: seconds of the wall clock, and of
processor time of all processes. Spark runs with two threads in one Java process. Needs Java.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench_row_merge import SIDES, write_files
from proc_stats import cpu_seconds
from support.services.spark import spark_session

import anabranch.spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def merge(spark: SparkSession, paths: list[str], output: str) -> None:
    anabranch.spark.merge_tables(spark, *paths, key="id").write(output)


def join(spark: SparkSession, paths: list[str], output: str) -> None:
    tables = []
    for side, path in zip(SIDES, paths, strict=True):
        table = spark.read.parquet(path)
        names = (f"{name} AS {name if name == 'id' else side + name}" for name in table.columns)
        tables.append(table.selectExpr(*names))
    base, source, destination = tables
    joined = destination.join(source, "id", "full_outer").join(base, "id", "full_outer")
    joined.write.parquet(output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_files(folder, given.rows)
        paths = [str(files[side]) for side in SIDES]
        with spark_session({}, jars=folder / "none", folder=folder) as spark:
            times: dict[str, list[tuple[float, float]]] = {"merge": [], "join": []}
            for number in range(given.rounds + 1):
                for act in (merge, join):
                    start, cpu = time.perf_counter(), cpu_seconds(os.getpid())
                    act(spark, paths, str(folder / "output"))
                    used = time.perf_counter() - start, cpu_seconds(os.getpid()) - cpu
                    shutil.rmtree(folder / "output")
                    if number:  # the first round warms up
                        times[act.__name__].append(used)
        for kind, measured in times.items():
            wall, cpu = (statistics.median(each) for each in zip(*measured, strict=True))
            print(f"{kind} of {given.rows} rows: {wall:.1f} s, {cpu:.1f} s of processor time")


if __name__ == "__main__":
    main()
