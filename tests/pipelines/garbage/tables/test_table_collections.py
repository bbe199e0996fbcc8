"""Collections of files of tables: killed ahead of any step, two at once, with clocks that differ,
and of tables that are not understood.
"""

from __future__ import annotations

import random

import pytest
from support.garbage import DAY
from support.session.sizes import sized
from support.verification.table_manifests import manifest, manifest_list

from anabranch.pipelines.storage.storage import Storage
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS

from .scenario import (
    REFERENCES,
    WAYS,
    TableScenario,
    add_dead_files,
    add_dead_files_elsewhere,
    attempt,
    commit_tree,
    copy_old_tables,
    hard_reset,
)
from .table_engine import (
    Lost,
    path_of,
    read,
    readable,
    stored_file,
)

ON_SIDE = {add_dead_files_elsewhere, commit_tree, copy_old_tables, hard_reset}
"""References on the branch `side`."""


class Killed(BaseException):
    """The end of a process."""


def kill():
    raise Killed


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", range(8))
@pytest.mark.sample(1)
def test_a_collection_that_is_killed_at_any_step_loses_nothing(first, way, tmp_path):
    number = first
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        scenario = TableScenario(folder, way=way)
        with scenario.lake:
            live = read(scenario.lake, "main")
            scenario.steps.arm(number, kill)
            killed = False
            try:
                with scenario.mark() as run:
                    run.sweep()
            except Killed:
                killed = True
            scenario.steps.arm(-1, kill)
            assert read(scenario.lake, "main") == live
            with scenario.mark() as run:
                run.sweep()
            assert read(scenario.lake, "main") == live
            for address in scenario.dead:
                with pytest.raises(Lost):
                    stored_file(scenario.lake, address)
            # what names them is refused, also by the records that the killed one has left
            assert attempt(scenario, add_dead_files) is None
            scenario.clock.advance(LEASE_SECONDS + 2 * CLOCK_SKEW_SECONDS)
            assert attempt(scenario, add_dead_files) is None
            scenario.engine.append("trips", [7])
            assert readable(scenario.lake, "main") is not None
        if not killed:
            return
        number += sized(40, weekly=24)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.sample(1)
def test_two_collections_and_two_writers_take_turns(seed, tmp_path):
    way = WAYS[seed % len(WAYS)]
    scenario, chance = TableScenario(tmp_path, way=way), random.Random(seed)
    kept = []
    with scenario.lake:
        scenario.way = chance.choice(WAYS)  # of the second collector
        skew = chance.choice((0, -CLOCK_SKEW_SECONDS, CLOCK_SKEW_SECONDS))
        second = scenario.make_collector("second", lambda: scenario.clock() + skew)

        def refer(each):
            made = attempt(scenario, each)
            if made is not None:
                kept.append((each, made[0]))

        def on_side():
            refer(add_dead_files_elsewhere)

        with scenario.mark() as run, second.mark("sea", window_seconds=0) as again:
            # a branch is written by one at a time, which waits for the other
            first = chance.choice([each for each in REFERENCES if each not in ON_SIDE])
            scenario.steps.take_turns(
                chance, [run.sweep, again.sweep, lambda: refer(first), on_side]
            )
        for each, reference in [*kept, (None, "main"), (None, "side")]:
            assert readable(scenario.lake, reference) is not None, (each, reference)


@pytest.mark.sample(1)
@pytest.mark.parametrize("skew", [-CLOCK_SKEW_SECONDS, CLOCK_SKEW_SECONDS, 40 * DAY])
def test_age_is_by_the_clock_of_the_store(skew, tmp_path):
    scenario = TableScenario(tmp_path)
    with scenario.lake:
        new = scenario.engine.put(scenario.area, "data/written.parquet", b"not committed yet")
        scenario.clock.advance(6 * DAY)
        ahead = scenario.make_collector("ahead", lambda: scenario.clock() + skew)
        with ahead.mark("sea", window_seconds=0) as run:
            assert run.summary.tables.young == 1
            run.sweep()
        assert stored_file(scenario.lake, new) == b"not committed yet"
        scenario.engine.append("trips", files=[new])
        assert readable(scenario.lake, "main") is not None


def test_the_window_counts_for_files_of_tables(tmp_path):
    scenario = TableScenario(tmp_path)
    with scenario.lake:
        for _ in range(2):
            with scenario.mark(window_seconds=DAY) as run:
                assert run.sweep().swept.objects == 0
            stored_file(scenario.lake, scenario.dead[0])
        scenario.clock.advance(2 * DAY)
        with scenario.mark(window_seconds=DAY) as run:
            assert run.sweep().swept.objects
        with pytest.raises(Lost):
            stored_file(scenario.lake, scenario.dead[0])


def test_runs_that_do_not_know_files_of_tables_do_not_begin_the_window_anew(tmp_path):
    scenario = TableScenario(tmp_path)
    with scenario.lake:
        for listing in (None, ()):
            with scenario.mark(window_seconds=DAY, listing=listing) as run:
                assert run.summary.tables.collected == (listing is None)
                assert run.sweep().swept.objects == 0
            scenario.clock.advance(DAY)
        with scenario.mark(window_seconds=DAY) as run:
            assert run.sweep().swept.objects
        with pytest.raises(Lost):
            stored_file(scenario.lake, scenario.dead[0])


def test_a_table_in_the_making_keeps_its_area(tmp_path):
    scenario = TableScenario(tmp_path)
    with scenario.lake:
        tables, place = scenario.engine.tables, scenario.engine.place("main")
        area = tables.new_area(place, scenario.engine.find("trips").identifier._replace(name="new"))
        first = scenario.engine.put(area, "data/f.parquet", b"1")
        scenario.clock.advance(5 * DAY)
        scenario.engine.put(area, "data/f.parquet", b"2")
        scenario.clock.advance(5 * DAY)
        with scenario.mark() as run:
            run.sweep()
        assert stored_file(scenario.lake, first) == b"1"
        scenario.clock.advance(8 * DAY)
        with scenario.mark() as run:
            run.sweep()
        with pytest.raises(Lost):
            stored_file(scenario.lake, first)


def test_spellings_of_addresses(tmp_path):
    scenario = TableScenario(tmp_path)
    with scenario.lake:
        engine, area = scenario.engine, scenario.area
        names = ["data/a b.parquet", "data/x=1%2F2/c.parquet", "data/d.parquet", "data/q?.parquet"]
        for name in names:
            scenario.lake.iceberg.areas.put(area, name, [b"1"])
        root = area.location
        spelled = [
            f"{root.replace('s3://', 's3a://')}/data/a%20b.parquet",
            f"{root}/data/x=1%2F2/c.parquet",
            f"{root}//data///d.parquet",
            f"{root}/data/../data/./q?.parquet",
        ]
        engine.append("trips", files=spelled)
        scenario.clock.advance(30 * DAY)
        with scenario.mark() as run:
            run.sweep()
        for name in names:
            assert stored_file(scenario.lake, f"{root}/{name}") == b"1"


def test_version_1_statistics_and_views(tmp_path):
    scenario = TableScenario(tmp_path)
    with scenario.lake:
        engine = scenario.engine
        area = engine.create("old", version=1)
        data = engine.put(area, "data/f.parquet", b"1")
        listed = engine.put(area, "metadata/m.avro", manifest([data]))
        gone = engine.put(area, "data/f.parquet", b"0")
        statistics = engine.put(area, "metadata/s.puffin", b"puffin")
        unnamed = engine.put(area, "metadata/t.puffin", b"puffin")
        record = engine.find("old").record
        metadata = {
            **engine.metadata("old"),
            "current-snapshot-id": 1,
            "snapshots": [
                {"snapshot-id": 1, "timestamp-ms": 1, "manifests": [listed], "summary": {}}
            ],
            "statistics": [{"snapshot-id": 1, "statistics-path": statistics}],
        }
        engine.drop("old")
        new = engine.tables.new_record(area, metadata, engine.tables.store(area, metadata))
        scenario.lake.objects.upload("sea", "main", path_of("old"), [new.record.to_bytes()])
        scenario.clock.advance(30 * DAY)
        with scenario.mark() as run:
            run.sweep()
        for each in (data, listed, statistics, new.file.location):
            stored_file(scenario.lake, each)
        for each in (gone, unnamed, record.metadata):
            with pytest.raises(Lost):
                stored_file(scenario.lake, each)


DAMAGE = {
    "no record": lambda s: s.lake.objects.upload("sea", "main", path_of("bad"), [b"{}"]),
    "format": lambda s: change_metadata(s, {"format-version": 4}),
    "no manifests": lambda s: change_metadata(s, {"snapshots": [{"snapshot-id": 1}]}),
    "no list": lambda s: change_metadata(s, {"snapshots": 7}),
    "list": lambda s: change_metadata(s, {"snapshots": [snapshot(s, b"no Avro")]}),
    "missing list": lambda s: change_metadata(
        s, {"snapshots": [{"snapshot-id": 1, "manifest-list": f"{s.area.location}/metadata/no"}]}
    ),
    "elsewhere": lambda s: change_metadata(
        s, {"snapshots": [{"snapshot-id": 1, "manifest-list": "s3://else/where.avro"}]}
    ),
    "a list as a manifest": lambda s: change_metadata(
        s,
        {
            "snapshots": [
                snapshot(
                    s,
                    manifest_list(
                        [s.engine.put(s.area, "metadata/l.avro", manifest_list(["s3://a/b"]))]
                    ),
                )
            ]
        },
    ),
}


def snapshot(scenario, content):
    listed = scenario.engine.put(scenario.area, "metadata/snap.avro", content)
    return {"snapshot-id": 1, "timestamp-ms": 1, "manifest-list": listed}


def change_metadata(scenario, fields):
    engine = scenario.engine
    metadata = {**engine.metadata("trips"), **fields}
    new = engine.tables.new_record(
        scenario.area, metadata, engine.tables.store(scenario.area, metadata)
    )
    scenario.lake.objects.upload("sea", "main", path_of("bad"), [new.record.to_bytes()])


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.sample(1)
def test_what_is_not_understood_keeps_its_area_and_is_reported(damage, tmp_path):
    scenario = TableScenario(tmp_path)
    with scenario.lake:
        DAMAGE[damage](scenario)
        before = scenario.files()
        scenario.clock.advance(30 * DAY)
        with scenario.mark() as run:
            summary = run.sweep()
        gone = before - scenario.files()
        assert not {name for name in gone if scenario.area.id in name}
        kept = {each.area for each in summary.tables.kept_areas}
        assert kept == ({""} if damage == "no record" else {scenario.area.id})
        assert all("bad" in each.reason for each in summary.tables.kept_areas)
        if damage != "no record":
            dropped = scenario.dropped.partition("/.tables/")[2]
            assert f"tables/{dropped}" in gone


def test_the_storage_report_has_files_of_tables(tmp_path):
    scenario = TableScenario(tmp_path)
    with scenario.lake:
        storage = Storage(scenario.lake.core, scenario.lake.blocks, scenario.clock)
        found = storage.find_garbage("sea").tables
        assert found.collected
        assert found.files.objects == len(scenario.stored_files())
        assert found.dead.objects > len(scenario.dead)
        assert found.files.bytes > found.dead.bytes > 0
        report = storage.report("sea", points=50)
        assert report.garbage is not None
        assert report.garbage.tables == found


@pytest.mark.sample(1)
@pytest.mark.parametrize("way", WAYS)
def test_uploads_that_were_never_completed(way, tmp_path):
    """An upload that goes on keeps what it has stored, however old; what an upload has left behind
    that is not on record any more is removed after the grace.
    """
    scenario = TableScenario(tmp_path, way=way)
    with scenario.lake:
        areas, core = scenario.lake.iceberg.areas, scenario.lake.core
        area = areas.find(core.repositories.get("sea"), scenario.area.id)
        areas.open_upload(area, "data/big.parquet")
        (upload,) = core.uploads.all()
        scenario.lake.blocks.put(upload.block, [b"joined"])
        left = f"{scenario.namespace}/tables/uploads/{'0' * 32}-{'1' * 32}"
        other = f"{scenario.namespace}/tables/uploads/notes.txt"
        for address in (left, other):
            scenario.lake.blocks.put(address, [b"1"])

        def collect(**options):
            with scenario.mark(**options) as run:
                run.sweep(end_uploads=options.get("uploads_seconds") is not None)
                return run.summary

        scenario.clock.advance(6 * DAY)
        collect()
        assert scenario.lake.blocks.stat(left) is not None  # young
        scenario.clock.advance(2 * DAY)
        summary = collect()
        assert scenario.lake.blocks.stat(left) is None
        assert scenario.lake.blocks.stat(upload.block) is not None
        assert scenario.lake.blocks.stat(other) is not None
        if way == "server":  # which does not end uploads
            core.uploads.abandon(core.uploads.find(area.repository, upload.id))
        else:
            assert summary.old_uploads == 1
            assert collect(uploads_seconds=7 * DAY).ended_uploads == 1
        scenario.clock.advance(2 * 3600)
        scenario.lake.uploads.clean()
        assert [*core.uploads.all()] == []
        collect()
        assert scenario.lake.blocks.stat(upload.block) is None
        # a client that continues after that gets an error, and can begin again
        new = areas.open_upload(area, "data/big.parquet")
        part = areas.put_part(area, "data/big.parquet", new, 1, [b"1"])
        areas.complete_upload(area, "data/big.parquet", new, [(1, part.checksum)])
        assert areas.read(area, "data/big.parquet", 1) == b"1"
