"""Runs of garbage collection, each rule of theirs by itself."""

from __future__ import annotations

import itertools
import json

import pytest

from anabranch.errors import AnabranchError, Corrupt, Gone, NotFound
from anabranch.keyvalue.contract import Write
from anabranch.model.retention import RetentionRules
from anabranch.pipelines.garbage.candidates import CANDIDATES
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.listing import listed
from anabranch.pipelines.garbage.namespace import namespace_of
from anabranch.pipelines.garbage.sweep import Sweep
from anabranch.testing.garbage import DAY, addresses, stored
from anabranch.testing.stores import FaultyBlocks, fail_at
from anabranch.versioning import keys

_bodies = itertools.count()


def put(lake, path, branch="main", body=None, repository="sea"):
    body = b"%d" % next(_bodies) if body is None else body
    return lake.objects.upload(repository, branch, path, [body]).entry.address


def commit(lake, branch="main"):
    return lake.commits.commit("sea", branch, committer="me", message="m", metadata={})


def found(collector, **options):
    with collector.mark("sea", **options) as run:
        return addresses(run.candidates())


def test_what_was_overwritten_before_it_was_committed_is_found(lake, clock, collector):
    first, second = put(lake, "a"), put(lake, "a")
    assert found(collector) == set()
    clock.advance(DAY + 1)
    assert found(collector) == {first}
    commit(lake)
    assert found(collector) == {first}
    lake.objects.delete("sea", "main", "a")
    assert found(collector) == {first}
    commit(lake)
    assert found(collector) == {first}
    assert second in lake_addresses(lake)


def lake_addresses(lake):
    return stored(lake, "mem://sea")


def test_rules_let_old_commits_go(lake, clock, collector):
    old = put(lake, "a")
    commit(lake)
    clock.advance(10 * DAY)
    put(lake, "a")
    commit(lake)
    lake.garbage_rules.set("sea", RetentionRules(5))
    clock.advance(5 * DAY - 1)
    assert found(collector) == set()
    clock.advance(2)
    assert found(collector) == {old}
    lake.tags.create("sea", "v1", "main~1")
    assert found(collector) == set()


def test_a_candidate_is_removed_after_the_window_and_no_sooner(lake, clock, collector):
    dead, kept = put(lake, "a"), put(lake, "a")
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=3 * DAY) as run:
        assert run.summary.due.objects == 0
        assert run.summary.next_due_at == int(clock.now + 3 * DAY)
        assert run.sweep().swept.objects == 0
    clock.advance(3 * DAY - 1)
    with collector.mark("sea", window_seconds=3 * DAY) as run:
        assert run.sweep().swept.objects == 0
    clock.advance(1)
    with collector.mark("sea", window_seconds=3 * DAY) as run:
        assert run.summary.due.objects == 1
        assert run.sweep().swept.objects == 1
    assert dead not in lake_addresses(lake)
    assert kept in lake_addresses(lake)
    assert lake.objects.open("sea", "main", "a").read_bytes()


def test_one_that_lives_again_waits_anew(lake, clock, collector):
    address = put(lake, "a")
    checksum = lake.objects.stat("sea", "main", "a").entry.checksum
    put(lake, "a")
    clock.advance(2 * DAY)
    assert found(collector) == {address}
    lake.staging.stage(
        "sea", "main", "b", address=f"mem://sea/{address}", checksum=checksum, size=1
    )
    clock.advance(DAY)
    assert found(collector) == set()
    lake.objects.delete("sea", "main", "b")
    clock.advance(DAY)
    with collector.mark("sea") as run:
        assert addresses(run.candidates()) == {address}
        assert run.summary.due.objects == 0


def test_what_comes_to_life_between_mark_and_sweep_stays(lake, clock, collector):
    address = put(lake, "a")
    checksum = lake.objects.stat("sea", "main", "a").entry.checksum
    put(lake, "a")
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        assert run.summary.due.objects == 1
        lake.staging.stage(
            "sea", "main", "b", address=f"mem://sea/{address}", checksum=checksum, size=1
        )
        swept = run.sweep()
    assert (swept.swept.objects, swept.revived) == (0, 1)
    assert address in lake_addresses(lake)


def test_files_of_others_are_left_alone(lake, clock, collector):
    strays = [
        "data/readme.txt",
        "data/" + "c" * 20 + "/notes",
        "data/" + "c" * 20 + "/" + "C" * 20,
        "data/" + "c" * 20 + "/" + "c" * 20 + ".tmp",
        "other/file",
        "data/!ab/c/" + "c" * 20 + "/" + "c" * 20,
    ]
    for stray in strays:
        lake.blocks.put(f"mem://sea/{stray}", [b"1"])
    never_linked = lake.core.identifiers.data_address()
    lake.blocks.put(f"mem://sea/{never_linked}", [b"1"])
    linked_token = lake.core.identifiers.data_address() + "," + "s" * 43
    lake.blocks.put(f"mem://sea/{linked_token}", [b"1"])
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        assert addresses(run.candidates()) == {never_linked, linked_token}
        assert run.summary.unknown == 5
        run.sweep()
    assert set(strays) <= lake_addresses(lake)


def test_an_address_that_was_handed_out_is_waited_for(lake, clock, collector):
    address = lake.staging.new_address("sea", "main", "a")
    clock.advance(DAY)
    lake.blocks.put(address, [b"1"])
    assert found(collector) == set()
    clock.advance(DAY)
    assert found(collector) == set()
    clock.advance(1)
    assert found(collector) == {address.removeprefix("mem://sea/")}


def test_an_upload_under_way_lives_however_old_it_is(lake, clock, collector):
    upload = lake.uploads.create("sea", "main", "big")
    # S3 dates what was uploaded in parts from the beginning of the upload
    lake.blocks.put(upload.block, [b"1"])
    clock.advance(30 * DAY)
    assert found(collector) == set()
    lake.uploads.abort("sea", "main", "big", upload.id)
    assert upload.address not in lake_addresses(lake)


def test_what_another_repository_names_lives(lake, clock, collector):
    address = put(lake, "a")
    checksum = lake.objects.stat("sea", "main", "a").entry.checksum
    lake.repositories.create("land", "mem://land")
    lake.staging.stage(
        "land", "main", "b", address=f"mem://sea/{address}", checksum=checksum, size=1
    )
    lake.objects.delete("sea", "main", "a")
    clock.advance(2 * DAY)
    assert found(collector) == set()
    lake.commits.commit("land", "main", committer="me", message="m", metadata={})
    assert found(collector) == set()
    lake.objects.delete("land", "main", "b")
    lake.commits.commit("land", "main", committer="me", message="m", metadata={})
    assert found(collector) == set()
    lake.repositories.delete("land")
    assert found(collector) == {address}


def test_what_a_newer_change_hides_in_a_sealed_area_lives(lake, clock, collector):
    older = put(lake, "a")
    sea = lake.core.repositories.get("sea")

    def seal(stored):
        sealed = lake.core.branches.sealed(sea, stored.branch)
        return [lake.core.branches.write(sea, sealed)], []

    lake.core.branches.update(sea, "main", seal)
    newer = put(lake, "a")
    clock.advance(2 * DAY)
    assert found(collector) == set()
    assert {older, newer} <= lake_addresses(lake)


def test_a_run_reads_only_what_no_earlier_run_has_read(lake, collector, tmp_path):
    put(lake, "a")
    commit(lake)
    with collector.mark("sea") as run:
        assert (run.summary.found.ranges, run.summary.found.ranges_read) == (1, 1)
    put(lake, "b")
    commit(lake)
    with collector.mark("sea") as run:
        assert (run.summary.found.ranges, run.summary.found.ranges_read) == (2, 1)
    kept = [path for path in (tmp_path / "gc").rglob("*") if path.is_file()]
    assert len(kept) == 2
    for path, damage in zip(kept, (lambda raw: raw[:-1], lambda _: b""), strict=True):
        path.write_bytes(damage(path.read_bytes()))
    with collector.mark("sea") as run:
        assert run.summary.found.ranges_read == 2


def test_equal_content_at_another_address_makes_another_range(lake, clock, collector):
    """Marks are kept by the ids of ranges, which must therefore tell addresses apart."""
    first = put(lake, "a", body=b"same")
    tree = lake.core.trees.open(lake.core.repositories.get("sea"), commit(lake).metarange_id)
    found(collector)
    lake.branches.create("sea", "dev", "main~1")
    second = put(lake, "a", "dev", body=b"same")
    other = lake.core.trees.open(
        lake.core.repositories.get("sea"), commit(lake, "dev").metarange_id
    )
    assert tree.ranges()[0].id != other.ranges()[0].id
    clock.advance(2 * DAY)
    assert found(collector) == set()
    assert {first, second} <= lake_addresses(lake)


def test_marks_of_ranges_that_are_gone_are_removed(lake, clock, collector, tmp_path):
    lake.garbage_rules.set("sea", RetentionRules(1))
    put(lake, "a")
    commit(lake)
    found(collector)
    clock.advance(3 * DAY)
    put(lake, "a")
    commit(lake)
    clock.advance(3 * DAY)
    found(collector)
    assert len([path for path in (tmp_path / "gc").rglob("*") if path.is_file()]) == 1


def test_the_earlier_of_two_clocks_counts(lake, clock, tmp_path):
    put(lake, "a"), put(lake, "a")
    folder = tmp_path / "gc"
    ahead = Collector(lake.core, lake.blocks, folder, clock=lambda: clock.now + 100 * DAY)
    with ahead.mark("sea") as run:
        assert addresses(run.candidates()) == set()
        assert run.summary.clock_ahead_seconds == 100 * DAY
    clock.advance(50 * DAY)
    behind = Collector(lake.core, lake.blocks, folder, clock=lambda: clock.now - 50 * DAY)
    assert found(behind) == set()


def test_the_later_of_two_stamps_counts(lake, clock, collector):
    clock.advance(50 * DAY)
    named_later = lake.core.identifiers.data_address()
    clock.advance(-50 * DAY)
    lake.blocks.put(f"mem://sea/{named_later}", [b"1"])
    clock.advance(40 * DAY)
    assert found(collector) == set()
    clock.advance(12 * DAY)
    assert found(collector) == {named_later}


@pytest.mark.parametrize("damage", [None, b"", b"no table at all"])
def test_a_range_that_cannot_be_read_fails_the_run_by_name(
    lake, clock, collector, tmp_path, damage
):
    put(lake, "a"), put(lake, "a")
    tree = lake.core.trees.open(lake.core.repositories.get("sea"), commit(lake).metarange_id)
    (lost,) = tree.ranges()
    clock.advance(2 * DAY)
    place = f"mem://sea/_lakefs/{lost.id}"
    lake.blocks.delete([place])
    if damage is not None:
        lake.blocks.put(place, [damage])
    for cached in (tmp_path / "cache").rglob(lost.id):
        cached.unlink()
    before = lake_addresses(lake)
    with pytest.raises((Gone, Corrupt), match=lost.id):
        collector.mark("sea", window_seconds=0)
    (summary,) = lake_addresses(lake) - before
    told = json.loads(lake.blocks.read(f"mem://sea/{summary}"))
    assert told["state"] == "failed"
    assert lost.id in told["error"]
    assert before <= lake_addresses(lake)


def test_a_commit_that_is_missing_fails_the_run(lake, collector):
    put(lake, "a")
    first = commit(lake)
    put(lake, "b")
    commit(lake)
    sea = lake.core.repositories.get("sea")

    lake.keyvalue.apply([Write(sea.partition, keys.commit(first.id), None)])
    lake.core.commits._cache.clear()
    lake.garbage_rules.set("sea", RetentionRules(1))
    with pytest.raises(Gone, match=first.id):
        collector.mark("sea")


def test_a_sweep_that_was_broken_off_is_taken_up_by_the_next(lake, clock, collector, tmp_path):
    dead = {put(lake, "a") for _ in range(20)}
    put(lake, "a")
    clock.advance(2 * DAY)
    broken = FaultyBlocks(lake.blocks, fail_at("delete", 8, AnabranchError("killed")))
    breaking = Collector(lake.core, broken, tmp_path / "gc", clock=clock)
    with pytest.raises(AnabranchError, match="killed"):
        breaking.mark("sea", window_seconds=0).sweep()
    left = dead & lake_addresses(lake)
    assert len(left) == 13
    clock.advance(1)
    with collector.mark("sea", window_seconds=0) as run:
        assert addresses(run.candidates()) == left
        assert run.sweep().swept.objects == 13
    assert dead & lake_addresses(lake) == set()


def test_a_repository_that_is_deleted_meanwhile_is_not_swept(lake, clock, collector):
    put(lake, "a"), put(lake, "a")
    commit(lake)
    clock.advance(2 * DAY)
    before = lake_addresses(lake)
    with collector.mark("sea", window_seconds=0) as run:
        lake.repositories.delete("sea")
        with pytest.raises(NotFound):
            run.sweep()
    assert before <= lake_addresses(lake)


def test_another_repository_that_is_being_deleted_is_no_hindrance(lake, clock, collector):
    lake.repositories.create("land", "mem://land")
    dead = put(lake, "a")
    put(lake, "a")
    put(lake, "a", repository="land")
    lake.commits.commit("land", "main", committer="me", message="m")
    clock.advance(2 * DAY)
    real = lake.core.tags.all

    def tags(repository):
        """What is read between the branches and the commits."""
        if repository.id == "land":
            lake.repositories.delete("land")
        return real(repository)

    lake.core.tags.all = tags
    assert found(collector) == {dead}


def test_the_rate_is_kept(lake, clock, collector, monkeypatch):
    slept = []
    monkeypatch.setattr("anabranch.pipelines.garbage.sweep.BATCH", 2)

    for _ in range(7):
        put(lake, "a")
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        now = 0.0

        def sleep(seconds):
            nonlocal now
            slept.append(seconds)
            now += seconds

        sweep = Sweep(
            lake.blocks,
            run._place.namespace,
            run.living,
            run._watching,
            rate=4,
            ticks=lambda: now,
            sleep=sleep,
        )
        assert [removed.objects for removed in sweep.remove(run.due())] == [2, 2, 2]
    assert slept == [0.5, 0.5, 0.5]


def test_what_lives_is_looked_at_again_in_a_long_sweep(lake, clock, collector, monkeypatch):
    monkeypatch.setattr("anabranch.pipelines.garbage.sweep.BATCH", 2)

    dead = [put(lake, "a") for _ in range(6)]
    checksum = lake.objects.stat("sea", "main", "a").entry.checksum
    put(lake, "a")
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        ticks = iter(range(0, 10_000, 61))
        sweep = Sweep(
            lake.blocks, run._place.namespace, run.living, run._watching, ticks=lambda: next(ticks)
        )
        going = sweep.remove(run.due())
        assert next(going).objects == 2
        (last,) = sorted(set(dead) & lake_addresses(lake))[-1:]
        lake.staging.stage(
            "sea", "main", "b", address=f"mem://sea/{last}", checksum=checksum, size=1
        )
        assert [(removed.objects, removed.revived) for removed in going] == [(2, 0), (1, 1)]
    assert set(dead) & lake_addresses(lake) == {last}


def test_the_summary_and_the_candidates_are_files(lake, clock, collector):
    put(lake, "a", body=b"123"), put(lake, "a", body=b"1")
    clock.advance(2 * DAY)
    with collector.mark("sea") as run:
        location = run.summary.candidates_location
        (batch,) = run.candidates()
        assert batch.schema == CANDIDATES
    told = json.loads(lake.blocks.read(location.replace("candidates.parquet", "summary.json")))
    assert told["state"] == "reported"
    assert told["candidates"] == {"objects": 1, "bytes": 3}
    assert told["listed"] == {"objects": 2, "bytes": 4}
    assert told["by_month"] == {"2023-11": {"objects": 1, "bytes": 3}}
    assert told["found"]["repositories"] == 1


def test_old_runs_are_forgotten(lake, clock, collector):
    for _ in range(12):
        clock.advance(60)
        with collector.mark("sea", window_seconds=0) as run:
            run.sweep()
    runs = {name.split("/")[4] for name in lake_addresses(lake) if "gc/anabranch" in name}
    assert len(runs) == 10
    assert run.summary.run_id == min(runs)


def test_a_listing_may_come_from_elsewhere(lake, clock, collector):
    first = put(lake, "a")
    put(lake, "a")
    clock.advance(2 * DAY)
    assert found(collector, listing=[]) == set()

    namespace = namespace_of(lake.core.repositories.get("sea"), lake.blocks)
    assert found(collector, listing=list(listed(lake.blocks, namespace))) == {first}
