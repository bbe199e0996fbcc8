"""Benchmarks an export on Spark: bytes of tables that are read, Spark's jobs, and time.

    python benchmarks/bench_spark_export.py --objects 200000      a few minutes

Objects have 1 KiB, in a folder that is reached as a remote store, so that tasks download tables.
The commit is exported to another folder, first with few objects: Java compiles then. Needs
Java, and space for a file of each object (4 KiB): with TMPDIR=/dev/shm, these are in memory.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
from proc_stats import cpu_seconds
from support.services.spark import spark_session

import anabranch
import anabranch.spark
from anabranch.blocks.table_addresses import is_table_address
from anabranch.library import Lake
from anabranch.spark.sources.stores import Opener, store_opener

BODY = bytes(1 << 10)


class RemoteBlocks:
    """The blocks of a local store, reached as those of a remote one, that counts in a file how many
    bytes of tables are read and how many objects are copied.
    """

    def __init__(self, opener: Opener, counted: Path) -> None:
        self._blocks = opener()
        self._counted = counted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._blocks, name)

    def local_path(self, _: str) -> None:
        """Returns None, as a remote store."""

    def get(self, address: str, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Yields the bytes and counts them."""
        for piece in self._blocks.get(address, start, length):
            self._count(address, piece)
            yield piece

    def read(self, address: str, start: int = 0, length: int | None = None) -> bytes:
        """Returns the bytes and counts them."""
        content = self._blocks.read(address, start, length)
        self._count(address, content)
        return content

    def _count(self, address: str, content: bytes) -> None:
        if is_table_address(address):
            with self._counted.open("a") as file:
                file.write(f"{len(content)}\n")


def commit(lake: Lake, branch: str, objects: int) -> int:
    """Commits objects to a new branch, and returns the bytes of the tables."""
    lake.branches.create("sea", branch, "main")
    digests = sorted(hashlib.sha256(b"%d" % number).hexdigest()[:32] for number in range(objects))
    listing = pa.table(
        {
            "path": [f"{digest[:2]}/{digest}" for digest in digests],
            "physical_address": ["local://raw/body"] * objects,
            "size": pa.array([len(BODY)] * objects, pa.int64()),
            "checksum": [digest[::-1] for digest in digests],
        }
    )
    made = lake.import_listing("sea", branch, listing, verify="none").commit
    ranges = lake.core.trees.open(lake.core.repositories.get("sea"), made.metarange_id).ranges()
    sizes = [lake.blocks.stat(f"local://sea/_lakefs/{each.id}") for each in ranges]
    print(f"{objects:,} objects in {len(ranges)} ranges", flush=True)
    return sum(info.size for info in sizes if info is not None)


def last_job(spark: Any) -> int:
    """Returns the number of the latest Spark job."""
    scala = spark.sparkContext._jsc.sc()  # noqa: SLF001
    scala.listenerBus().waitUntilEmpty(60_000)
    jobs = scala.statusStore().jobsList(None)
    return max((jobs.apply(index).jobId() for index in range(jobs.size())), default=-1)


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=200_000)
    objects = parser.parse_args().objects
    with tempfile.TemporaryDirectory(prefix="anabranch-bench-") as temporary:
        folder = Path(temporary)
        counted = folder / "counted"
        settings = {"spark.driver.extraJavaOptions": ""}
        with (
            anabranch.open(folder / "lake") as lake,
            spark_session(settings, jars=folder / "none", folder=folder) as spark,
        ):
            lake.repositories.create("sea", "local://sea")
            lake.blocks.put("local://raw/body", [BODY])
            store = partial(RemoteBlocks, store_opener(lake.blocks, None, "local://sea"), counted)
            remote = SimpleNamespace(core=lake.core, blocks=store())
            for branch, amount in (("warm", objects // 20), ("full", objects)):
                stored = commit(lake, branch, amount)
                counted.unlink(missing_ok=True)
                job, began, used = last_job(spark), time.perf_counter(), cpu_seconds(os.getpid())
                done = anabranch.spark.export(
                    *(spark, remote, "sea", branch, str(folder / f"out-{branch}")), store=store
                )
                wall = time.perf_counter() - began
                cpu = cpu_seconds(os.getpid()) - used
                read = sum(map(int, counted.read_text().split()))
                print(
                    f"{branch}: {done.stored:,} objects, {wall:.1f} s, {cpu:.1f} s of CPU,"
                    f" {cpu / amount * 1e6:.0f} µs for each;"
                    f" {read / 1e6:.1f} MB of {stored / 1e6:.1f} MB of tables,"
                    f" {last_job(spark) - job} jobs,"
                    f" {sum(each.completed for each in done.tasks.values())} tasks",
                    flush=True,
                )


if __name__ == "__main__":
    main()
