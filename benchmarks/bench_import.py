"""Benchmarks imports: files of a folder through the lake, and a shuffled listing.

    python benchmarks/bench_import.py                              100,000 files, a minute
    python benchmarks/bench_import.py --files 1000 --listed 20000000
    python benchmarks/bench_import.py --files 1000 --listed 5000000 --spark

Files are empty, 1,000 in a folder. They are imported onto an empty branch, then again at the same
prefix, which changes nothing, then at another prefix. For each: wall time, processor time of all
processes, objects per second of both, and the peak memory of this process so far. `--listed` rows
of a Parquet file (140 bytes each) are imported in this process, and with `--spark` also by Spark
with two threads, whose first import includes the warm-up of Java. `--spark` needs Java.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from proc_stats import cpu_seconds
from support.services.spark import spark_session

import anabranch.spark
from anabranch.blocks.local.store import LocalBlocks
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.library import Lake
from anabranch.model.imports import ImportSource
from anabranch.pipelines.imports.commit_import import ImportRequest

IN_A_FOLDER = 1_000
TURNS = 2
BATCH = 1_000_000
TIME = pa.timestamp("us", "UTC")


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


def texts(numbers: np.ndarray, width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def digests(random: np.random.Generator, rows: int) -> pa.Array:
    offsets = pa.array(np.arange(0, 32 * (rows + 1), 32, dtype=np.int32))
    digits = pa.py_buffer(random.bytes(16 * rows).hex().encode())
    return pa.Array.from_buffers(pa.string(), rows, [None, offsets.buffers()[1], digits])


def write_listing(file: Path, rows: int) -> None:
    """Writes rows in an order that has nothing to do with their paths."""
    random = np.random.default_rng(1)
    order = random.permutation(rows)
    writer = None
    for start in range(0, rows, BATCH):
        ids = order[start : start + BATCH]
        days = texts(ids * 7919 % 997, 5)
        join = pc.binary_join_element_wise
        columns = {
            "path": join("warehouse/day=", days, "/part-", texts(ids, 9), ".parquet", ""),
            "physical_address": join("local://raw/", digests(random, len(ids)), ""),
            "size": pa.array(ids),
            "checksum": digests(random, len(ids)),
            "last_modified": pa.array((1_700_000_000 + ids) * 1_000_000).cast(TIME),
        }
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def import_by_spark(lake: Lake, folder: Path, file: Path, listed: int) -> None:
    # the options that tests give to Java are for short runs
    settings = {"spark.driver.extraJavaOptions": "", "spark.driver.memory": "4g"}
    with spark_session(settings, jars=folder / "none", folder=folder) as spark:
        for turn in range(1, TURNS + 1):
            name = lake.branches.create("events", f"spark-{turn}", "empty").id
            measure(
                f"a listing, Spark, import {turn}",
                listed,
                lambda name=name: anabranch.spark.import_listing(
                    *(lake, "events", name, spark.read.parquet(str(file))), verify="none"
                ),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--listed", type=int, default=0)
    parser.add_argument("--spark", action="store_true")
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
                ("at another prefix", "b"),
            ):
                measure(name, asked.files, lambda place=place: import_folder(lake, source, place))
            if asked.listed:
                file = folder / "listing.parquet"
                write_listing(file, asked.listed)
                lake.branches.create("events", "local", "empty")
                measure(
                    "a listing, in this process",
                    asked.listed,
                    lambda: lake.import_listing("events", "local", file, verify="none"),
                )
                if asked.spark:
                    import_by_spark(lake, folder, file, asked.listed)


if __name__ == "__main__":
    main()
