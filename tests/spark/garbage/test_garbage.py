"""Garbage collection on Spark finds what it finds in one process."""

from __future__ import annotations

import random
import time
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from support.garbage import RefusingStore, addresses, aged, live_at_random, refer_to_lost, stored

from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.addresses.listing import LISTING, list_slice
from anabranch.pipelines.garbage.addresses.namespace import to_namespace
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.marking.missing import MISSING
from anabranch.spark.arrow_tables import to_frame
from anabranch.spark.jobs.garbage import SparkEngine
from anabranch.spark.jobs.garbage import missing as garbage_missing
from anabranch.testing.stores import FaultyBlocks

LISTED = "address STRING, size BIGINT, mtime BIGINT"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def collector(lake, tmp_path):
    """A collector of the lake."""
    return Collector(lake.core, lake.blocks, tmp_path / "gc", clock=time.time)


@pytest.fixture
def history(lake):
    """Creates commits, a tag, staged changes, a multipart upload, a second repository, and garbage.
    Returns a listing, and the address of an object that only the second repository references.
    """
    lake.repositories.create("land", "local://land")
    for round_ in range(4):
        for number in range(30):
            body = b"%d %d" % (round_, number)
            path = f"{chr(97 + number % 5)}/{number}"
            lake.objects.upload("sea", "main", path, [body])
            if number % 3 == 0:
                lake.objects.upload("sea", "main", path, [body + b"!"])
        lake.commits.commit("sea", "main", message="m", committer="c", date=1_700_000_000 + round_)
    lake.tags.create("sea", "kept", "main~2")
    lake.objects.upload("sea", "main", "a/0", [b"staged"])
    lake.uploads.create("sea", "main", "big")
    dead = lake.objects.stat("sea", "main~3", "b/1")
    lake.staging.stage(
        "land", "main", "x", address=dead.physical_address, checksum=dead.entry.checksum, size=1
    )
    lake.commits.commit("land", "main", message="m", committer="c")
    lake.garbage_rules.set("sea", RetentionRules(1))
    namespace = to_namespace(lake.core.repositories.get("sea"), lake.blocks)
    batches = list(list_slice(lake.blocks, namespace.prefix))
    table = pa.Table.from_batches(batches, schema=LISTING)
    return table, dead.entry.address


@pytest.mark.slow  # random histories, below
def test_both_engines_find_the_same_candidates(spark, lake, history, collector):
    _, revived = history
    aged(lake, "local://sea")
    with collector.mark("sea", grace_seconds=-5) as run:
        local = run.summary
        expected = {tuple(row.values()) for batch in run.candidates() for row in batch.to_pylist()}
    assert len(expected) > 60
    engine = SparkEngine(spark, entries_per_task=20, slices=5)
    with collector.mark("sea", grace_seconds=-5, engine=engine) as run:
        found = {tuple(row.values()) for batch in run.candidates() for row in batch.to_pylist()}
        summary = run.summary
    assert found == expected
    assert summary.engine == "spark"
    assert (summary.listed, summary.young) == (local.listed, local.young)
    assert summary.found.ranges == local.found.ranges
    assert revived not in {row[0] for row in found}


@pytest.mark.slow
def test_given_listing_is_swept_by_tasks(spark, lake, history, collector):
    table, _ = history
    aged(lake, "local://sea")
    listing = to_frame(spark, table)
    engine = SparkEngine(spark, listing=listing)
    options = {"grace_seconds": -5, "window_seconds": -5}
    with collector.mark("sea", engine=engine, **options) as run:
        dead = addresses(run.due())
        assert run.sweep().swept.objects == len(dead) > 60
    assert not dead & stored(lake, "local://sea")
    with collector.mark("sea", **options) as run:
        assert addresses(run.candidates()) == set()
    for reference in ("main", "kept"):
        for stat in lake.objects.listing("sea", reference, amount=1000).items:
            assert lake.objects.open("sea", reference, stat.path).read_bytes()


def temporary_files(lake):
    """Returns the files that tasks have written to the store for a run."""
    names = stored(lake, "local://sea")
    folders = ("/listing/", "/missing/", "/dead/")
    return [name for name in names if any(folder in name for folder in folders)]


def missing(lake, collector, **options):
    with collector.mark("sea", **options) as run:
        summary = run.summary
    found = summary.missing
    rows = []
    if found.location:
        table = pq.read_table(pa.BufferReader(lake.blocks.read(found.location)))
        assert table.schema.equals(MISSING)
        rows = [tuple(row.values()) for row in table.to_pylist()]
        # the file has no columns about quarantine
        shown = [tuple(row.values())[: len(MISSING)] for row in msgspec.to_builtins(found.shown)]
        assert shown == rows[: len(shown)]
    assert not temporary_files(lake)
    return sorted(map(str, rows)), found.objects, found.references, found.checked, found.complete


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(9))])
@pytest.mark.slow
def test_both_engines_report_the_same_missing_objects(spark, lake, collector, seed):
    lake.repositories.create("land", "local://land")
    lost = refer_to_lost(lake, "local://sea", random.Random(seed))
    lake.objects.upload("sea", "main", "new", [b"listed, though it is young"])
    lake.tags.create("sea", "v1", "main")
    lake.tags.create("sea", "v2", "main~1")
    expected = missing(lake, collector)
    assert 0 < expected[1] <= len(lost)
    assert expected[3:] == ("all", True)

    def engine():
        return SparkEngine(spark, entries_per_task=5, slices=3)

    assert missing(lake, collector, engine=engine()) == expected
    assert missing(lake, collector, engine=engine(), check_only=True) == expected
    for address in stored(lake, "local://sea"):
        if address.startswith("data/"):
            lake.blocks.delete([f"local://sea/{address}"])
    expected = missing(lake, collector, check_only=True)
    assert expected[1] >= 20
    assert missing(lake, collector, engine=engine(), check_only=True) == expected


@pytest.mark.slow  # a limit of the summary
def test_missing_references_are_sampled_in_the_summary_and_complete_in_the_file(
    spark, lake, collector, monkeypatch
):
    monkeypatch.setattr(garbage_missing, "MAX_SHOWN_REFERENCES", 3)
    for number in range(8):
        lake.staging.stage(
            *("sea", "main", f"p{number}"),
            address=f"local://sea/data/{'c' * 20}/{'c' * 19}{number % 4}",
            checksum="0" * 32,
            size=1,
        )
    with collector.mark("sea", engine=SparkEngine(spark), check_only=True) as run:
        found = run.summary.missing
        assert run.summary.state == "checked"
    assert (found.objects, found.references) == (4, 8)
    assert len(pq.read_table(pa.BufferReader(lake.blocks.read(found.location)))) == 8
    assert len(found.shown) == 3


@pytest.mark.slow
def test_object_stored_after_the_listing_is_not_missing(spark, lake, collector):
    listing = spark.createDataFrame([], LISTED)
    address = f"local://sea/data/{'c' * 20}/{'c' * 20}"
    lake.blocks.put(address, [b"1"])
    for path in ("a", "b"):
        lake.staging.stage("sea", "main", path, address=address, checksum="0" * 32, size=1)
        lake.commits.commit("sea", "main", message="m", committer="c")
    lake.staging.stage("sea", "main", "c", address=address, checksum="0" * 32, size=1)
    for check_only in (True, False):
        engine = SparkEngine(spark, listing=listing)
        found = missing(lake, collector, engine=engine, check_only=check_only)
        assert found == ([], 0, 0, "all", True)


@pytest.mark.usefixtures("history")
def test_missing_range_fails_the_run_and_is_named(spark, lake, collector):
    tree = lake.core.trees.open(
        lake.core.repositories.get("sea"), lake.commits.get("sea", "main").metarange_id
    )
    lost = tree.ranges()[0].id
    Path(lake.blocks.local_path(f"local://sea/_lakefs/{lost}")).unlink()
    before = stored(lake, "local://sea")
    with pytest.raises(PySparkException, match=lost):
        collector.mark("sea", engine=SparkEngine(spark))
    assert before <= stored(lake, "local://sea")


@pytest.mark.usefixtures("history")
def test_sweep_by_tasks_keeps_objects_referenced_after_marking(spark, lake, collector):
    aged(lake, "local://sea")
    engine = SparkEngine(spark, tasks=2, entries_per_task=20)
    options = {"grace_seconds": -5, "window_seconds": -5}
    with collector.mark("sea", engine=engine, **options) as run:
        dead = sorted(addresses(run.due()))
        assert len(dead) > 60
        revived = dead[0]
        size = lake.blocks.stat(f"local://sea/{revived}").size
        lake.staging.stage(
            "sea", "main", "again", address=f"local://sea/{revived}", checksum="0" * 32, size=1
        )
        began = time.monotonic()
        summary = run.sweep(rate=40)
        assert time.monotonic() - began >= (len(dead) - 1) / 40
    assert (summary.swept.objects, summary.revived) == (len(dead) - 1, 1)
    assert summary.swept.bytes == summary.due.bytes - size
    assert stored(lake, "local://sea") & set(dead) == {revived}
    assert not temporary_files(lake)


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("quarantine_seconds", [None, 60])
@pytest.mark.slow  # figures of a race
def test_a_sweep_by_tasks_beside_another_one_counts_each_object_once(
    spark, lake, tmp_path, collector, quarantine_seconds
):
    aged(lake, "local://sea")
    options = {
        "grace_seconds": -5,
        "window_seconds": -5,
        "quarantine_seconds": quarantine_seconds,
    }
    deletions = []

    def interrupt(operation, _subject):
        deletions.append(operation)
        if deletions.count("delete") == 20:
            by_tasks.sweep()

    other = Collector(
        lake.core, FaultyBlocks(lake.blocks, interrupt), tmp_path / "gc2", clock=time.time
    )
    engine = SparkEngine(spark, tasks=2, entries_per_task=20)
    with (
        collector.mark("sea", engine=engine, **options) as by_tasks,
        other.mark("sea", grace_seconds=-5, window_seconds=-5) as here,
    ):
        dead = addresses(by_tasks.due())
        deletions.clear()
        summary, beside = here.sweep(), by_tasks.summary
    counted = beside.swept.objects + beside.quarantined.objects
    assert summary.swept.objects + counted == len(dead)
    assert (summary.gone, beside.gone) == (counted, summary.swept.objects)
    assert not dead & stored(lake, "local://sea")
    assert min(counted, beside.gone) > 0


@pytest.mark.slow
@pytest.mark.usefixtures("history")
def test_a_sweep_by_tasks_counts_nothing_that_another_one_has_removed(
    spark, lake, tmp_path, collector
):
    aged(lake, "local://sea")
    options = {"grace_seconds": -5, "window_seconds": -5}
    other = Collector(lake.core, lake.blocks, tmp_path / "gc2", clock=time.time)
    with (
        collector.mark("sea", engine=SparkEngine(spark, tasks=2), **options) as by_tasks,
        other.mark("sea", **options) as here,
    ):
        here.sweep()
        summary = by_tasks.sweep()
    assert here.summary.swept.objects == summary.due.objects == summary.gone > 0
    assert summary.swept.objects == 0


@pytest.mark.usefixtures("history")
@pytest.mark.slow
def test_next_run_completes_an_interrupted_sweep(spark, lake, collector):
    aged(lake, "local://sea")
    options = {"grace_seconds": -5, "window_seconds": -5}
    root = lake.blocks.local_path("local://sea/_").removesuffix("/sea/_")
    failing = SparkEngine(spark, RefusingStore(root, 10), tasks=2)
    run = collector.mark("sea", engine=failing, **options)
    dead = addresses(run.due())
    with pytest.raises(PySparkException, match="no more today"):
        run.sweep(rate=20)
    left = dead & stored(lake, "local://sea")
    assert 0 < len(left) < len(dead)
    assert run.summary.state == "failed"
    with collector.mark("sea", engine=SparkEngine(spark), **options) as run:
        # a task of the first sweep may have removed more objects meanwhile
        due = addresses(run.due())
        assert due <= left
        assert run.sweep().swept.objects == len(due)
    assert not dead & stored(lake, "local://sea")


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in range(30))])
def test_both_engines_agree_on_random_histories(spark, lake, collector, seed):
    lake.repositories.create("land", "local://land")
    live_at_random(lake, random.Random(seed), steps=60)
    aged(lake, "local://sea")
    results = []
    for engine in (None, SparkEngine(spark, entries_per_task=20, slices=7)):
        with collector.mark("sea", grace_seconds=-5, engine=engine) as run:
            rows = [
                tuple(row.values())[:3] for batch in run.candidates() for row in batch.to_pylist()
            ]
            summary = msgspec.to_builtins(run.summary)
        for name in ("run_id", "engine", "started_at", "ended_at", "candidates_location"):
            del summary[name]
        assert (summary["missing"]["objects"], summary["missing"]["checked"]) == (0, "all")
        tasks, phases = summary.pop("tasks"), summary.pop("phases")
        assert bool(tasks) == (engine is not None)
        assert list(phases) == [
            *("listing", "marking", "comparing", "looking for missing objects"),
            "tracing origins",
        ]
        assert min(phases.values()) >= 0
        for name in ("clock_ahead_seconds", "next_due_at", "page_location"):
            del summary[name]
        for name in ("ranges_read", "addresses"):
            del summary["found"][name]
        results.append((rows, summary))
    assert results[0] == results[1]
    assert results[0][0]
