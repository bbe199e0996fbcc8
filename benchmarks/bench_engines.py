"""Benchmarks exports and listings: the costs by which `--engine auto` chooses.

    python benchmarks/bench_engines.py --objects 20000      a few minutes

Prints the processor time of all processes for each object and each byte that the local engine and
Spark export to a folder, and for each object that a collection lists in a folder and removes there.
Small objects have 1 KiB; the cost of a byte is that of objects of 8 MiB. The time in Python, which
only one thread at a time has, is that of the driver outside of the system. A first export of each
engine is not counted, because Java compiles then. Needs Java.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from proc_stats import cpu_seconds
from support.services.spark import spark_session

import anabranch
import anabranch.spark
from anabranch.library import Lake
from anabranch.pipelines.exports.export import Exporter
from anabranch.pipelines.exports.folder import FolderDestination
from anabranch.pipelines.garbage.addresses.listing import list_slice

SMALL, LARGE = 1 << 10, 8 << 20
LARGE_OBJECTS = 32


def commit(lake: Lake, branch: str, objects: int, size: int) -> None:
    """Commits new objects of a size to a branch of their own."""
    lake.branches.create("sea", branch, "main")
    for number in range(objects):
        body = number.to_bytes(8, "big") * (size // 8)
        lake.objects.upload("sea", branch, f"{number % 100:02}/{number:09}", [body])
    lake.commits.commit("sea", branch, message="m", committer="c")


def measure(run: Callable[[], object]) -> tuple[float, float, float]:
    """Returns the time of a call, its processor time, and the part of this process outside of the
    system, in seconds.
    """
    began, used, user = time.perf_counter(), cpu_seconds(os.getpid()), os.times().user
    run()
    wall = time.perf_counter() - began
    return wall, cpu_seconds(os.getpid()) - used, os.times().user - user


def main() -> None:
    """Prints a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=20_000)
    objects = parser.parse_args().objects
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary:
        folder = Path(temporary)
        out = folder / "out"
        with (
            anabranch.open(folder / "lake") as lake,
            spark_session(
                {"spark.driver.extraJavaOptions": ""}, jars=folder / "none", folder=folder
            ) as spark,
        ):
            lake.repositories.create("sea", "local://sea")
            commit(lake, "warm", objects // 10, SMALL)
            commit(lake, "small", objects, SMALL)
            commit(lake, "large", LARGE_OBJECTS, LARGE)
            exporter = Exporter(lake.core, lake.blocks)
            engines: dict[str, Callable[[str], object]] = {
                "local": lambda branch: exporter.export("sea", branch, FolderDestination(out)),
                "spark": lambda branch: anabranch.spark.export(
                    spark, lake, "sea", branch, str(out)
                ),
            }
            for name, export in engines.items():
                for branch, amount, unit in (
                    ("warm", 0, ""),
                    ("small", objects, "object"),
                    ("large", LARGE_OBJECTS * LARGE, "byte"),
                ):
                    wall, cpu, user = measure(lambda: export(branch))  # noqa: B023  called here
                    shutil.rmtree(out)
                    if amount:
                        print(
                            f"export, {name}: {wall:.1f} s, {cpu:.1f} s of CPU,"
                            f" {cpu / amount * 1e6:.4f} µs for each {unit},"
                            f" {user / amount * 1e6:.4f} µs of it in Python",
                            flush=True,
                        )
            listed = 0

            def list_all() -> None:
                nonlocal listed
                listed = sum(batch.num_rows for batch in list_slice(lake.blocks, "local://sea/"))

            wall, cpu, _ = measure(list_all)
            print(f"list: {listed:,} objects, {wall:.1f} s, {cpu / listed * 1e6:.1f} µs for each")
            found = [block.address for block in lake.blocks.list("local://sea/data/")]
            wall, cpu, _ = measure(lambda: lake.blocks.delete(found))
            print(f"remove: {wall:.1f} s, {cpu / listed * 1e6:.1f} µs for each")


if __name__ == "__main__":
    main()
