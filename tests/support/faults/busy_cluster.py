"""Jobs on two executors in separate processes, with speculative execution, of which one is killed
in the middle of each job.

    python -m support.faults.busy_cluster FOLDER

The driver is a process of its own, because a process can have only one Spark session. Prints a line
for each job when its result equals that of the local engine.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import anabranch
import anabranch.spark
from anabranch.library import Lake
from anabranch.model.objects.stat import Stat
from anabranch.pipelines.garbage.collector import Collector
from anabranch.spark.jobs import imports
from anabranch.spark.jobs.garbage import SparkEngine
from anabranch.spark.sources.stores import Opener, store_opener
from support.faults.crashing_worker import ExecutorKillingStore
from support.garbage import addresses, aged, stored
from support.services.spark import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.master": "local-cluster[2,1,512]",
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "20ms",
    "spark.speculation.multiplier": "1.01",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "1ms",
    "spark.sql.shuffle.partitions": "4",
}
NOW: dict[str, Any] = {"grace_seconds": -5.0, "window_seconds": -5.0}


def main(folder: Path) -> None:
    """Runs the jobs."""
    with (
        anabranch.open(folder / "lake") as lake,
        spark_session(SETTINGS, jars=folder / "none", folder=folder) as spark,
    ):
        lake.repositories.create("sea", "local://sea")
        for version in range(2):
            for number in range(60):
                body = b"%d of version %d" % (number, version)
                lake.objects.upload("sea", "main", f"d{number % 9}/{number:02d}", [body])
        lake.commits.commit("sea", "main", message="m", committer="c")
        kills: list[Path] = []

        def killing(after: int) -> Opener:
            kills.append(folder / f"calls-{len(kills)}")
            kills[-1].mkdir()
            opener = store_opener(lake.blocks, None, "local://sea")
            return ExecutorKillingStore(opener, kills[-1], after, os.getpid()).__call__

        for job in (import_rows, export_objects, collect_garbage):
            job(spark, lake, folder, killing)
            assert all((calls / "3").exists() for calls in kills), kills
            print("done:", job.__name__, flush=True)


Killing = Callable[[int], Opener]


def import_rows(spark: SparkSession, lake: Lake, _: Path, killing: Killing) -> None:
    """Imports a listing, whose rows are all compared with the store."""
    items = lake.objects.listing("sea", "main", amount=1000).items
    stats = [item for item in items if isinstance(item, Stat)]
    rows = [(f"in/{x.path}", x.physical_address, x.entry.size, x.entry.checksum) for x in stats]
    listing = spark.createDataFrame(
        rows, "path STRING, physical_address STRING, size BIGINT, checksum STRING"
    ).repartition(4)
    lake.branches.create("sea", "local", "main")
    lake.branches.create("sea", "spark", "main")
    expected = lake.import_listing("sea", "local", listing.toArrow(), verify="all")
    store = killing(20)
    # only object stores are given by callers
    with patch.object(imports, "store_opener", lambda *_: store):
        done = anabranch.spark.import_listing(lake, "sea", "spark", listing, verify="all")
    assert done.commit.metarange_id == expected.commit.metarange_id


def export_objects(spark: SparkSession, lake: Lake, folder: Path, killing: Killing) -> None:
    """Exports a commit."""
    done = anabranch.spark.export(
        *(spark, lake, "sea", "main", str(folder / "out")), store=killing(25), entries_per_task=7
    )
    assert done.stored == 60
    for stat in lake.objects.listing("sea", "main", amount=1000).items:
        content = lake.objects.open("sea", "main", stat.path).read_bytes()
        assert (folder / "out" / stat.path).read_bytes() == content


def collect_garbage(spark: SparkSession, lake: Lake, folder: Path, killing: Killing) -> None:
    """Marks, and sweeps, with an executor killed in each."""
    aged(lake, "local://sea")
    collector = Collector(lake.core, lake.blocks, folder / "gc", clock=time.time)
    with collector.mark("sea", **NOW) as run:
        expected = addresses(run.candidates())
    assert len(expected) == 60
    engine = SparkEngine(spark, killing(8), slices=4, entries_per_task=10)
    with collector.mark("sea", engine=engine, **NOW) as run:
        assert addresses(run.candidates()) == expected
        engine._store = killing(3)
        summary = run.sweep(rate=30)
    assert summary.swept.objects + summary.late >= 60
    assert not expected & stored(lake, "local://sea")
    for stat in lake.objects.listing("sea", "main", amount=1000).items:
        assert lake.objects.open("sea", "main", stat.path).read_bytes()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
