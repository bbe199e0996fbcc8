"""Sweeps into quarantine, over a local folder and a versioned bucket."""

from __future__ import annotations

import io
import uuid

import pyarrow.parquet as pq
import pytest
from support.garbage import DAY, addresses, put, stored
from support.quarantine import WEEK, QuarantineSea

from anabranch.blocks.memory import MemoryBlocks
from anabranch.catalog.garbage.prepare import GarbagePreparation
from anabranch.errors import NotFound, NotSupported
from anabranch.pipelines.garbage.marking.missing import CLOCK_SKEW_SECONDS
from anabranch.pipelines.garbage.reports.page import render_page
from anabranch.pipelines.garbage.sweeping.restore import PROTECTION_SECONDS


def test_restoration_of_a_run_restores_all_its_objects(make_sea):
    sea = make_sea()
    summary = sea.sweep()
    assert (summary.quarantined.objects, summary.quarantined.bytes) == (3, 18)
    assert (summary.swept.objects, summary.purged.objects) == (0, 0)
    assert sea.data() == {sea.kept}
    (run,) = sea.restorer.runs("sea")
    assert (run.run_id, run.quarantined.objects, run.quarantined.bytes) == (summary.run_id, 3, 18)
    assert run.until - run.removed_at in (WEEK, WEEK + 1)
    planned = sea.restorer.restore("sea", run.run_id, dry_run=True)
    assert (planned.restored.objects, sea.data()) == (3, {sea.kept})
    done = sea.restorer.restore("sea", run.run_id)
    assert (done.restored.objects, done.restored.bytes, done.failed) == (3, 18, 0)
    assert {name: sea.read(name) for name in sea.dead} == sea.dead
    (run,) = sea.restorer.runs("sea")
    assert (run.quarantined.objects, run.restored.objects) == (0, 3)
    assert sea.restorer.restore("sea", run.run_id).restored.objects == 0


def test_quarantined_object_is_not_a_candidate(make_sea):
    sea = make_sea()
    sea.sweep()
    with sea.mark() as run:
        assert run.summary.listed.objects == 1
        assert addresses(run.candidates()) == set()
        assert run.summary.unknown == 0


def test_restoration_with_prefixes_restores_matching_objects(make_sea):
    sea = make_sea()
    run = sea.sweep().run_id
    first, second, third = sorted(sea.dead)
    assert sea.restorer.restore("sea", run, prefixes=[first, second]).restored.objects == 2
    assert sea.data() == {sea.kept, first, second}
    assert sea.restorer.restore("sea", run, prefixes=["data/none"]).restored.objects == 0
    assert sea.restorer.restore("sea", run).restored.objects == 1
    assert sea.read(third) == sea.dead[third]


@pytest.mark.parametrize("run", ["", "x", "../..", "c" * 20])
def test_restoration_of_a_run_without_quarantine_raises_not_found(local_sea, run):
    sea = local_sea()
    sea.sweep()
    with pytest.raises(NotFound, match="nothing in quarantine"):
        sea.restorer.restore("sea", run)
    with pytest.raises(NotFound, match="repository"):
        sea.restorer.restore("land", run)


def test_restored_object_is_protected_for_a_week(make_sea):
    sea = make_sea()
    run = sea.sweep().run_id
    sea.restorer.restore("sea", run)
    for days in (0, 6.9):
        sea.clock.advance(days * DAY)
        assert sea.sweep().quarantined.objects == 0
    assert sea.data() == {sea.kept, *sea.dead}
    sea.stage(min(sea.dead))
    sea.clock.advance(PROTECTION_SECONDS + 2 * CLOCK_SKEW_SECONDS)
    again = sea.sweep()
    assert again.quarantined.objects == 2
    assert sea.data() == {sea.kept, min(sea.dead)}
    assert list(sea.keyvalue.scan("anabranch-restored")) == []
    assert sea.restorer.restore("sea", again.run_id).restored.objects == 2
    assert sea.restorer.restore("sea", run).restored.objects == 0


def test_lists_for_other_collectors_contain_restored_objects(local_sea):
    sea = local_sea()
    sea.restorer.restore("sea", sea.sweep().run_id)
    prepared = GarbagePreparation(sea.lake.core, sea.lake.blocks, sea.clock, sea.lake.images)
    page = prepared.uncommitted("sea")
    (file,) = sea.lake.blocks.list(sea.lake.blocks.unqualify(page.location.rstrip("/")) + "/")
    table = pq.read_table(io.BytesIO(sea.lake.blocks.read(file.address)))
    assert set(table.column("physical_address").to_pylist()) == set(sea.dead)


def test_restoration_does_not_replace_another_object_at_the_address(make_sea):
    sea = make_sea()
    run = sea.sweep().run_id
    taken, *others = sorted(sea.dead)
    sea.lake.blocks.put(f"{sea.namespace}/{taken}", [b"another"])
    done = sea.restorer.restore("sea", run)
    assert (done.replaced, done.failed, done.restored.objects) == ([taken], 1, 2)
    assert sea.read(taken) == b"another"
    assert all(sea.read(name) == sea.dead[name] for name in others)
    assert sea.restorer.restore("sea", run).replaced == [taken]


def test_purge_waits_for_the_quarantine_time_and_an_hour(make_sea):
    sea = make_sea()
    run = sea.sweep(DAY).run_id
    for seconds in (DAY, CLOCK_SKEW_SECONDS - 1):
        sea.clock.advance(seconds)
        assert sea.collector.purge("sea").purged.objects == 0
    assert sea.restorer.runs("sea")
    sea.clock.advance(2)
    purged = sea.collector.purge("sea")
    assert (purged.purged.objects, purged.purged.bytes, purged.kept) == (3, 18, 0)
    assert sea.restorer.runs("sea") == []
    assert sea.data() == {sea.kept}
    with pytest.raises(NotFound):
        sea.restorer.restore("sea", run)
    assert not [name for name in stored(sea.lake, sea.namespace) if "/quarantine/" in name]


def test_sweep_purges_expired_objects_and_report_does_not(make_sea):
    sea = make_sea()
    run = sea.sweep(-7200).run_id  # expires immediately
    assert sea.restorer.runs("sea") == []
    for _ in range(2):
        put(sea.lake, "b")
    sea.sweep(DAY)
    with sea.mark():
        pass
    assert [item.run_id == run for item in sea.restorer.runs("sea")] == [False]


def test_purge_keeps_referenced_objects(make_sea):
    sea = make_sea()
    run = sea.sweep(DAY).run_id
    needed = min(sea.dead)
    sea.stage(needed)
    sea.clock.advance(2 * DAY)
    purged = sea.collector.purge("sea")
    assert (purged.purged.objects, purged.kept) == (2, 1)
    assert sea.collector.purge("sea").purged.objects == 0
    done = sea.restorer.restore("sea", run)
    assert (done.restored.objects, len(done.gone)) == (1, 2)
    assert sea.read(needed) == sea.dead[needed]
    purged = sea.collector.purge("sea")
    assert (purged.purged.objects, purged.kept) == (0, 0)
    assert sea.restorer.runs("sea") == []
    assert sea.read(needed) == sea.dead[needed]


def test_missing_object_is_reported_with_the_run_that_quarantined_it(make_sea):
    sea = make_sea()
    run = sea.sweep().run_id
    needed = min(sea.dead)
    sea.stage(needed)
    lost = f"data/{'c' * 20}/{'c' * 20}"
    sea.stage(lost, "lost")
    with sea.collector.mark("sea", check_only=True) as checked:
        missing = checked.summary.missing
    assert {reference.address for reference in missing.shown} == {needed, lost}
    assert missing.quarantine == {needed: run}
    assert run.encode() in render_page(checked.summary)
    sea.restorer.restore("sea", run)
    with sea.collector.mark("sea", check_only=True) as checked:
        shown = checked.summary.missing.shown
        assert [reference.address for reference in shown] == [lost]


def test_files_of_runs_with_quarantined_objects_are_kept(local_sea):
    sea = local_sea()
    run = sea.sweep().run_id
    for _ in range(12):
        sea.clock.advance(1)
        sea.sweep()
    assert [item.run_id for item in sea.restorer.runs("sea")] == [run]
    names = stored(sea.lake, sea.namespace)
    assert f"_lakefs/retention/gc/anabranch/{run}/report.html" in names
    assert sea.restorer.restore("sea", run).restored.objects == 3


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_store_without_quarantine_support_is_refused_before_the_run(kind, request, tmp_path):
    if kind == "memory":
        sea = QuarantineSea(tmp_path, MemoryBlocks(), "mem://sea")
    else:
        service = request.getfixturevalue("s3_service")
        bucket = f"plain-{uuid.uuid4()}"
        service.make_bucket(bucket)
        sea = QuarantineSea(tmp_path, service.blocks(), f"s3://{bucket}/sea")
    before = stored(sea.lake, sea.namespace)
    with pytest.raises(NotSupported) as refused:
        sea.mark()
    assert (refused.value.kind, bool(refused.value.hint)) == ("quarantine_not_supported", True)
    assert stored(sea.lake, sea.namespace) == before
    assert sea.collector.purge("sea").purged.objects == 0
