"""The files of a garbage collection on Spark, which hold what would grow on the driver."""

from __future__ import annotations

import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from support.driver_rows import driver_rows
from support.garbage import addresses, aged, stored

from anabranch.pipelines.garbage.addresses.listing import LISTING
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.run_files import MARKS_FOLDER
from anabranch.spark.arrow_tables import to_frame
from anabranch.spark.jobs.garbage import SparkEngine, listing
from anabranch.spark.jobs.parts import PartReader, PartWriter

pytestmark = pytest.mark.timeout(600)

NOW = {"grace_seconds": -5, "window_seconds": -5}
LISTED = "address STRING, size BIGINT, mtime BIGINT"
LONG_AGO = 1_600_000_000
DIGITS = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv", np.uint8)


@pytest.fixture
def collector(lake, tmp_path):
    """A collector of the lake."""
    return Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)


@pytest.fixture
def filled(lake):
    """The lake with a commit of 40 objects, and 40 dead ones; returns the dead ones."""
    for _ in range(2):
        for number in range(40):
            lake.objects.upload("sea", "main", f"p/{number}", [b"%d" % number])
    live = {x.entry.address for x in lake.objects.listing("sea", "main", amount=100).items}
    lake.commits.commit("sea", "main", message="m", committer="c")
    aged(lake, "local://sea")
    return {name for name in stored(lake, "local://sea") if name.startswith("data/")} - live


def marks_of(lake):
    return {name for name in stored(lake, "local://sea") if name.startswith(MARKS_FOLDER)}


def generated(count):
    """Returns a table of listed objects with generated addresses."""
    random = np.random.default_rng(7)
    text = DIGITS[random.integers(0, 32, (count, 46))]
    text[:, :5] = np.frombuffer(b"data/", np.uint8)
    text[:, 25] = ord("/")
    text[:, 26:33] = np.frombuffer(b"bu9ao00", np.uint8)
    names = [bytes(row).decode() for row in text]
    rows = {"address": names, "size": [1] * count, "mtime": [LONG_AGO] * count}
    return pa.table(rows, schema=LISTING)


@pytest.mark.usefixtures("filled")
@pytest.mark.slow
def test_driver_receives_few_rows_for_many_objects(spark, lake, collector):
    """20,000 addresses alone are a megabyte."""
    for count in (2_000, 20_000):
        frame = to_frame(spark, generated(count)).repartition(4)
        frame.write.mode("overwrite").parquet(f"{collector._folder}/listing-{count}")
        given = spark.read.parquet(f"{collector._folder}/listing-{count}")
        engine = SparkEngine(spark, listing=given, tasks=2)
        with (
            driver_rows(spark, "256k") as received,
            collector.mark("sea", engine=engine, **NOW) as run,
        ):
            assert run.summary.candidates.objects == count
            assert run.sweep().swept.objects == count
        assert received.total < 30
    refused = pytest.raises((PySparkException, Py4JJavaError), match="maxResultSize")
    with refused, driver_rows(spark, "256k"):
        given.collect()
    assert not [name for name in stored(lake, "local://sea") if "/dead/" in name]


@pytest.mark.slow
def test_listing_in_rounds_and_many_files_finds_the_same(
    spark, lake, collector, filled, monkeypatch
):
    monkeypatch.setattr(listing, "StoredListing", partial(listing.StoredListing, round_objects=5))
    monkeypatch.setattr("anabranch.spark.jobs.garbage.engine.StoredListing", listing.StoredListing)
    engine = SparkEngine(spark, slices=3)
    with collector.mark("sea", engine=engine, **NOW) as run:
        assert run.summary.listed.objects == 80
        assert addresses(run.candidates()) == filled
        assert run.sweep().swept.objects == 40
    assert not filled & stored(lake, "local://sea")


@pytest.mark.slow
def test_time_of_first_finding_is_kept_across_engines(spark, collector, filled):
    found = []
    for engine in (None, SparkEngine(spark), SparkEngine(spark), None):
        with collector.mark("sea", engine=engine, grace_seconds=-5, window_seconds=1000) as run:
            rows = [row for batch in run.candidates() for row in batch.to_pylist()]
            assert run.summary.next_due_at == rows[0]["since"] + 1000
        found.append({row["address"]: row["since"] for row in rows})
        assert list(found[-1]) == sorted(filled)
    assert found[0] == found[1] == found[2] == found[3]


@pytest.mark.slow  # an odd listing
def test_object_that_is_listed_twice_is_a_candidate_once(spark, collector, filled):
    first, *_ = sorted(filled)
    rows = [(first, 5, LONG_AGO), (first, 5, LONG_AGO + 9), (first, 5, LONG_AGO)]
    given = spark.createDataFrame(rows, LISTED)
    with collector.mark("sea", engine=SparkEngine(spark, listing=given), **NOW) as run:
        (row,) = [row for batch in run.candidates() for row in batch.to_pylist()]
        assert (row["address"], row["mtime"]) == (first, LONG_AGO + 9)
        assert (run.summary.candidates.objects, run.summary.candidates.bytes) == (1, 5)
        assert run.sweep().swept.objects == 1


@pytest.mark.slow
def test_marks_of_ranges_are_kept_and_those_of_others_are_removed(spark, lake, collector, filled):
    unused = f"local://sea/{MARKS_FOLDER}elsewhere"
    lake.blocks.put(unused, [b"x"])
    with collector.mark("sea", engine=SparkEngine(spark), **NOW) as run:
        assert addresses(run.candidates()) == filled
    (kept,) = marks_of(lake)
    address = f"local://sea/{kept}"
    assert lake.blocks.stat(unused) is None
    before = lake.blocks.read(address)
    tree = lake.core.trees.open(
        lake.core.repositories.get("sea"), lake.commits.get("sea", "main").metarange_id
    )
    (table,) = [each.id for each in tree.ranges()]
    assert kept.endswith(table)
    path = Path(lake.blocks.local_path(f"local://sea/_lakefs/{table}"))
    content = path.read_bytes()
    # with kept marks, the range is not read
    path.write_bytes(b"damaged")
    with collector.mark("sea", engine=SparkEngine(spark), **NOW) as run:
        assert addresses(run.candidates()) == filled
    # with damaged marks, it is
    damaged = bytearray(before)
    damaged[-1] ^= 1
    lake.blocks.put(address, [bytes(damaged)])
    with pytest.raises(PySparkException, match=table):
        collector.mark("sea", engine=SparkEngine(spark), **NOW)
    path.write_bytes(content)
    for wrong in (bytes(damaged), before[:-8], b""):
        lake.blocks.put(address, [wrong])
        with collector.mark("sea", engine=SparkEngine(spark), **NOW) as run:
            assert addresses(run.candidates()) == filled
        assert lake.blocks.read(address) == before


def test_rows_are_divided_among_files_and_failed_attempts_leave_none(lake):
    schema = pa.schema([("number", pa.int64())])
    prefix = "local://sea/_lakefs/parts/"
    with PartWriter(lake.blocks, prefix, schema, rows=10) as writer:
        for start in range(0, 35, 7):
            numbers = pa.array(range(start, start + 7))
            writer.write(pa.RecordBatch.from_arrays([numbers], schema=schema))
    assert [rows for _, rows in writer.files] == [10, 10, 10, 5]
    opener = lake.blocks.opener()
    read = [
        number
        for name, _ in writer.files
        for batch in PartReader(opener, ["number"])(prefix + name)
        for number in batch["number"].to_pylist()
    ]
    assert read == list(range(35))
    failed = PartWriter(lake.blocks, prefix, schema)
    with suppress(ZeroDivisionError), failed:
        failed.write(pa.RecordBatch.from_arrays([pa.array([1])], schema=schema))
        1 / 0  # noqa: B018
    assert failed.files == []
    assert len(list(lake.blocks.list(prefix))) == 4
