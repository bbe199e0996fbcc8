"""Benchmarks imports: files of a folder through the lake, and a shuffled listing through Spark.

    python benchmarks/bench_import.py                              100,000 files, a minute
    python benchmarks/bench_import.py --files 1000000 --listed 5000000

Files are empty, 1,000 in a folder. They are imported onto an empty branch, then again at the same
place, where nothing changes, then beside what is there. For each: wall time, processor time of all
processes, objects a second of both, and the most memory so far. With `--listed`, Spark, with two
threads, imports so many rows of a Parquet file; the first import also warms Java up. Needs Java.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from usage import cpu_seconds

import anabranch.spark
from anabranch.blocks.local import LocalBlocks
from anabranch.keyvalue.sqlite import SQLiteStore
from anabranch.library import Lake
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.landing import ImportRequest
from anabranch.testing.spark import spark_session

IN_A_FOLDER = 1_000
TURNS = 2


def fill(folder: Path, files: int) -> None:
    for number in range(0, files, IN_A_FOLDER):
        below = folder / f"day={number // IN_A_FOLDER:05d}"
        below.mkdir(parents=True)
        for each in range(min(IN_A_FOLDER, files - number)):
            (below / f"part-{each:05d}.parquet").touch()


def opened(folder: Path, source: Path) -> Lake:
    blocks = LocalBlocks(folder / "block", import_enabled=True, external_prefixes=[str(source)])
    (folder / "metadata").mkdir()
    return Lake(
        SQLiteStore(folder / "metadata" / "metadata.db"),
        blocks,
        cache_folder=folder / "cache",
        signing_secret=b"a secret of benchmarks",
    )


def measure(name: str, objects: int, work: Callable[[], object]) -> None:
    used, start = cpu_seconds(os.getpid()), time.perf_counter()
    work()
    wall, cpu = time.perf_counter() - start, cpu_seconds(os.getpid()) - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rates = f"{objects / wall:12,.0f} {objects / cpu:14,.0f}"
    print(f"{name:34} {wall:7.2f} s {cpu:7.2f} s {rates} {memory:7.0f} MiB")


def import_folder(lake: Lake, source: Path, destination: str) -> None:
    wanted = ImportSource(type="common_prefix", path=f"local://{source}/", destination=destination)
    request = ImportRequest(branch="main", sources=[wanted], committer="bench")
    import_id = lake.imports.start("events", request)
    while not (status := lake.imports.status("events", "main", import_id)).ended:
        time.sleep(0.01)
    assert status.completed, status.error


def import_listing(lake: Lake, folder: Path, listed: int) -> None:
    # the options that tests give to Java are for short runs
    settings = {"spark.driver.extraJavaOptions": "", "spark.driver.memory": "4g"}
    with spark_session(settings, jars=folder / "none", folder=folder) as spark:
        file = str(folder / "listing")
        spark.range(listed).selectExpr(
            "concat('warehouse/day=', lpad(pmod(id * 7919, 997), 5, '0'), '/part-', "
            "lpad(id, 9, '0'), '.parquet') AS path",
            "concat('s3://bucket/', md5(string(id))) AS physical_address",
            "id AS size",
            "md5(string(id + 1)) AS checksum",
            "timestamp_seconds(1700000000 + id) AS last_modified",
        ).orderBy("checksum").write.parquet(file)
        for turn in range(1, TURNS + 1):
            name = lake.branches.create("events", f"listed-{turn}", "empty").id
            measure(
                f"a listing, Spark, import {turn}",
                listed,
                lambda name=name: anabranch.spark.import_listing(
                    lake, "events", name, spark.read.parquet(file)
                ),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--listed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source = folder / "source"
        fill(source, asked.files)
        with opened(folder, source) as lake:
            lake.repositories.create("events", "local://events")
            lake.branches.create("events", "empty", "main")
            print(f"{'':34}      time       CPU    objects/s  objects/s CPU      memory")
            for name, place in (
                ("a folder, onto an empty branch", "a"),
                ("the same again", "a"),
                ("beside what is there", "b"),
            ):
                measure(name, asked.files, lambda place=place: import_folder(lake, source, place))
            if asked.listed:
                import_listing(lake, folder, asked.listed)


if __name__ == "__main__":
    main()
