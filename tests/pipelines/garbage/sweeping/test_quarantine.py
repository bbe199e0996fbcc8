"""Sweeps into quarantine, over a local folder and a versioned bucket."""

from __future__ import annotations

import io
import uuid

import pyarrow.parquet as pq
import pytest
from support.garbage import DAY, addresses, put, stored
from support.quarantine import WEEK, QuarantineScenario

from anabranch.blocks.memory import MemoryBlocks
from anabranch.catalog.garbage.prepare import GarbagePreparation
from anabranch.errors import NotFound, NotSupported
from anabranch.pipelines.garbage.reports.page import render_page
from anabranch.pipelines.garbage.sweeping.restore import PROTECTION_SECONDS
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS

# over both stores, one restoration, sweep and purge run each time
STORES = pytest.mark.parametrize(
    "make_scenario", ["local", pytest.param("s3", marks=pytest.mark.slow)], indirect=True
)


def test_restoration_of_a_run_restores_all_its_objects(make_scenario):
    scenario = make_scenario()
    summary = scenario.sweep()
    assert (summary.quarantined.objects, summary.quarantined.bytes) == (3, 18)
    assert (summary.swept.objects, summary.purged.objects) == (0, 0)
    assert scenario.data() == {scenario.kept}
    (run,) = scenario.restorer.runs("sea")
    assert (run.run_id, run.quarantined.objects, run.quarantined.bytes) == (summary.run_id, 3, 18)
    assert run.until - run.removed_at in (WEEK, WEEK + 1)
    planned = scenario.restorer.restore("sea", run.run_id, dry_run=True)
    assert (planned.restored.objects, scenario.data()) == (3, {scenario.kept})
    done = scenario.restorer.restore("sea", run.run_id)
    assert (done.restored.objects, done.restored.bytes, done.failed) == (3, 18, 0)
    assert {name: scenario.read(name) for name in scenario.dead} == scenario.dead
    (run,) = scenario.restorer.runs("sea")
    assert (run.quarantined.objects, run.restored.objects) == (0, 3)
    assert scenario.restorer.restore("sea", run.run_id).restored.objects == 0


def test_quarantined_object_is_not_a_candidate(make_scenario):
    scenario = make_scenario()
    scenario.sweep()
    with scenario.mark() as run:
        assert run.summary.listed.objects == 1
        assert addresses(run.candidates()) == set()
        assert run.summary.unknown == 0


@STORES
def test_restoration_with_prefixes_restores_matching_objects(make_scenario):
    scenario = make_scenario()
    run = scenario.sweep().run_id
    first, second, third = sorted(scenario.dead)
    assert scenario.restorer.restore("sea", run, prefixes=[first, second]).restored.objects == 2
    assert scenario.data() == {scenario.kept, first, second}
    assert scenario.restorer.restore("sea", run, prefixes=["data/none"]).restored.objects == 0
    assert scenario.restorer.restore("sea", run).restored.objects == 1
    assert scenario.read(third) == scenario.dead[third]


@pytest.mark.parametrize("run", ["", "x", "../..", "c" * 20])
def test_restoration_of_a_run_without_quarantine_raises_not_found(local_scenario, run):
    scenario = local_scenario()
    scenario.sweep()
    with pytest.raises(NotFound, match="nothing in quarantine"):
        scenario.restorer.restore("sea", run)
    with pytest.raises(NotFound, match="repository"):
        scenario.restorer.restore("land", run)


@STORES
def test_restored_object_is_protected_for_a_week(make_scenario):
    scenario = make_scenario()
    run = scenario.sweep().run_id
    scenario.restorer.restore("sea", run)
    for days in (0, 6.9):
        scenario.clock.advance(days * DAY)
        assert scenario.sweep().quarantined.objects == 0
    assert scenario.data() == {scenario.kept, *scenario.dead}
    scenario.stage(min(scenario.dead))
    scenario.clock.advance(PROTECTION_SECONDS + 2 * CLOCK_SKEW_SECONDS)
    again = scenario.sweep()
    assert again.quarantined.objects == 2
    assert scenario.data() == {scenario.kept, min(scenario.dead)}
    assert list(scenario.keyvalue.scan("anabranch-restored")) == []
    assert scenario.restorer.restore("sea", again.run_id).restored.objects == 2
    assert scenario.restorer.restore("sea", run).restored.objects == 0


def test_lists_for_other_collectors_contain_restored_objects(local_scenario):
    scenario = local_scenario()
    scenario.restorer.restore("sea", scenario.sweep().run_id)
    prepared = GarbagePreparation(
        scenario.lake.core, scenario.lake.blocks, scenario.clock, scenario.lake.images
    )
    page = prepared.uncommitted("sea")
    (file,) = scenario.lake.blocks.list(
        scenario.lake.blocks.unqualify(page.location.rstrip("/")) + "/"
    )
    table = pq.read_table(io.BytesIO(scenario.lake.blocks.read(file.address)))
    assert set(table.column("physical_address").to_pylist()) == set(scenario.dead)


@STORES
def test_restoration_does_not_replace_another_object_at_the_address(make_scenario):
    scenario = make_scenario()
    run = scenario.sweep().run_id
    taken, *others = sorted(scenario.dead)
    scenario.lake.blocks.put(f"{scenario.namespace}/{taken}", [b"another"])
    done = scenario.restorer.restore("sea", run)
    assert (done.replaced, done.failed, done.restored.objects) == ([taken], 1, 2)
    assert scenario.read(taken) == b"another"
    assert all(scenario.read(name) == scenario.dead[name] for name in others)
    assert scenario.restorer.restore("sea", run).replaced == [taken]


def test_purge_waits_for_the_quarantine_time_and_an_hour(make_scenario):
    scenario = make_scenario()
    run = scenario.sweep(DAY).run_id
    for seconds in (DAY, CLOCK_SKEW_SECONDS - 1):
        scenario.clock.advance(seconds)
        assert scenario.collector.purge("sea").purged.objects == 0
    assert scenario.restorer.runs("sea")
    scenario.clock.advance(2)
    purged = scenario.collector.purge("sea")
    assert (purged.purged.objects, purged.purged.bytes, purged.kept) == (3, 18, 0)
    assert scenario.restorer.runs("sea") == []
    assert scenario.data() == {scenario.kept}
    with pytest.raises(NotFound):
        scenario.restorer.restore("sea", run)
    assert not [
        name for name in stored(scenario.lake, scenario.namespace) if "/quarantine/" in name
    ]


def test_sweep_purges_expired_objects_and_report_does_not(make_scenario):
    scenario = make_scenario()
    run = scenario.sweep(-7200).run_id  # expires immediately
    assert scenario.restorer.runs("sea") == []
    for _ in range(2):
        put(scenario.lake, "b")
    scenario.sweep(DAY)
    with scenario.mark():
        pass
    assert [item.run_id == run for item in scenario.restorer.runs("sea")] == [False]


def test_purge_keeps_referenced_objects(make_scenario):
    scenario = make_scenario()
    run = scenario.sweep(DAY).run_id
    needed = min(scenario.dead)
    scenario.stage(needed)
    scenario.clock.advance(2 * DAY)
    purged = scenario.collector.purge("sea")
    assert (purged.purged.objects, purged.kept) == (2, 1)
    assert scenario.collector.purge("sea").purged.objects == 0
    done = scenario.restorer.restore("sea", run)
    assert (done.restored.objects, len(done.gone)) == (1, 2)
    assert scenario.read(needed) == scenario.dead[needed]
    purged = scenario.collector.purge("sea")
    assert (purged.purged.objects, purged.kept) == (0, 0)
    assert scenario.restorer.runs("sea") == []
    assert scenario.read(needed) == scenario.dead[needed]


@STORES
def test_missing_object_is_reported_with_the_run_that_quarantined_it(make_scenario):
    scenario = make_scenario()
    run = scenario.sweep().run_id
    needed = min(scenario.dead)
    scenario.stage(needed)
    lost = f"data/{'c' * 20}/{'c' * 20}"
    scenario.stage(lost, "lost")
    with scenario.collector.mark("sea", check_only=True) as checked:
        missing = checked.summary.missing
    assert {reference.address for reference in missing.shown} == {needed, lost}
    assert missing.quarantine == {needed: run}
    assert run.encode() in render_page(checked.summary)
    scenario.restorer.restore("sea", run)
    with scenario.collector.mark("sea", check_only=True) as checked:
        shown = checked.summary.missing.shown
        assert [reference.address for reference in shown] == [lost]


@pytest.mark.slow
def test_files_of_runs_with_quarantined_objects_are_kept(local_scenario):
    scenario = local_scenario()
    run = scenario.sweep().run_id
    for _ in range(12):
        scenario.clock.advance(1)
        scenario.sweep()
    assert [item.run_id for item in scenario.restorer.runs("sea")] == [run]
    names = stored(scenario.lake, scenario.namespace)
    assert f"_lakefs/retention/gc/anabranch/{run}/report.html" in names
    assert scenario.restorer.restore("sea", run).restored.objects == 3


@pytest.mark.parametrize("kind", ["memory", "s3"])
def test_store_without_quarantine_support_is_refused_before_the_run(kind, request, tmp_path):
    if kind == "memory":
        scenario = QuarantineScenario(tmp_path, MemoryBlocks(), "mem://sea")
    else:
        service = request.getfixturevalue("s3_service")
        bucket = f"plain-{uuid.uuid4()}"
        service.make_bucket(bucket)
        scenario = QuarantineScenario(tmp_path, service.blocks(), f"s3://{bucket}/sea")
    before = stored(scenario.lake, scenario.namespace)
    with pytest.raises(NotSupported) as refused:
        scenario.mark()
    assert (refused.value.kind, bool(refused.value.hint)) == ("quarantine_not_supported", True)
    assert stored(scenario.lake, scenario.namespace) == before
    assert scenario.collector.purge("sea").purged.objects == 0
