"""Benchmarks DataFrames: all objects of a commit, and few or many changes between two commits.

    python benchmarks/bench_spark_tables.py                        2,000,000 objects, two minutes
    python benchmarks/bench_spark_tables.py --objects 10000000

Prints for each query the wall time, the processor time of Spark, its Python workers and this
program, and the objects a second. Spark runs with two threads in one Java process. Needs Java.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from proc_stats import cpu_seconds
from support.services.spark import spark_session

import anabranch.spark
from anabranch._kernel import encode_entry, write_tree
from anabranch.blocks.table_addresses import tables_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame

    from anabranch._kernel import Value
    from anabranch.library import Lake

CHANGES = 1000
REPETITIONS = 3


def records(objects: int) -> Iterator[tuple[bytes, Value]]:
    for number in range(objects):
        day, hour = divmod(number // 200, 24)
        checksum = hashlib.md5(b"%d" % number).hexdigest()  # noqa: S324  as lakeFS
        address = f"data/gk3l{checksum[:16]}/{checksum[12:]}"
        key = b"warehouse/events/day=%05d/hour=%02d/part-%09d.parquet" % (day, hour, number)
        yield key, encode_entry(address, 1, 1_700_000_000 + number, 0, number, checksum, {}, "")


def fill(lake: Lake, objects: int) -> int:
    """Creates a commit with the tag `before`, and one with changes of adjacent paths and the tag
    `after`. Returns the number of ranges of the first commit.
    """
    namespace = lake.repositories.create("events", "local://events").storage_namespace
    folder = lake.blocks.local_path(tables_address(namespace))
    assert folder is not None
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = write_tree(records(objects), folder)
    commit = lake.commits.commit(
        "events", "main", message="All", committer="c", source_metarange=written.metarange_id
    )
    lake.tags.create("events", "before", commit.id)
    tree = lake.core.trees.open(lake.repositories.get("events"), written.metarange_id)
    changed = [
        (key, (hashlib.sha256(key).digest(), data))
        for number, (key, (_, data)) in enumerate(records(objects // 2 + CHANGES))
        if number >= objects // 2
    ]
    lake.branches.create("events", "changed", "main~1")
    after = lake.commits.commit(
        "events",
        "changed",
        message="Some",
        committer="c",
        source_metarange=tree.apply(changed, folder).metarange_id,
    )
    lake.tags.create("events", "after", after.id)
    return len(tree.ranges())


def measure(name: str, objects: int, make: Callable[[], DataFrame]) -> None:
    """Prints the best of several executions of a query, whose rows are computed and discarded."""
    best, cpu = float("inf"), float("inf")
    for _ in range(REPETITIONS):
        used, start = cpu_seconds(os.getpid()), time.perf_counter()
        make().write.format("noop").mode("overwrite").save()
        best = min(best, time.perf_counter() - start)
        cpu = min(cpu, cpu_seconds(os.getpid()) - used)
    print(f"{name:34} {best:7.2f} s {cpu:7.2f} s {objects / best:12,.0f} {objects / cpu:12,.0f}")


def main() -> None:
    """Prints a line for each query."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--objects", type=int, default=2_000_000)
    objects = parser.parse_args().objects
    with tempfile.TemporaryDirectory() as folder, anabranch.open(Path(folder, "lake")) as lake:
        ranges = fill(lake, objects)
        print(f"{objects:,} objects, {ranges} ranges    time       CPU    objects/s  objects/s CPU")
        # overrides settings for short tests
        settings = {"spark.driver.extraJavaOptions": "", "spark.driver.memory": "2g"}
        with spark_session(settings, jars=Path(folder, "none"), folder=Path(folder)) as spark:
            source = (spark, lake, "events")
            measure("objects", objects, lambda: anabranch.spark.objects(*source, "before"))
            measure(
                "objects, path and size",
                objects,
                lambda: anabranch.spark.objects(*source, "before").select("path", "size"),
            )
            measure(
                f"changes, {CHANGES} adjacent",
                CHANGES,
                lambda: anabranch.spark.changes(*source, "before", "after"),
            )
            measure(
                "changes, all",
                objects,
                lambda: anabranch.spark.changes(*source, "main~1", "before"),
            )


if __name__ == "__main__":
    main()
