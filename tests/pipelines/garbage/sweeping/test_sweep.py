"""Sweeps: which candidates are removed, when, and at which rate."""

from __future__ import annotations

import math

import pytest
from support.garbage import DAY, addresses, commit, found, put, stored

from anabranch.errors import AnabranchError, Busy, NotFound
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.sweeping.removal import Deletion, delete_with_backoff
from anabranch.pipelines.garbage.sweeping.sweep import (
    RemovalInBatches,
    Removed,
    RoundSizes,
    Sweep,
)
from anabranch.testing.stores import FaultyBlocks, fail_at
from anabranch.versioning.records.references import commit_from


def test_candidate_is_removed_only_after_the_restore_window(lake, clock, collector):
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
    assert dead not in stored(lake, "mem://sea")
    assert kept in stored(lake, "mem://sea")
    assert lake.objects.open("sea", "main", "a").read_bytes()


def test_candidate_that_was_reachable_again_waits_for_a_new_window(lake, clock, collector):
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


def test_object_referenced_between_mark_and_sweep_is_kept(lake, clock, collector):
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
    assert address in stored(lake, "mem://sea")


def test_next_run_completes_an_interrupted_sweep(lake, clock, collector, tmp_path):
    dead = {put(lake, "a") for _ in range(20)}
    put(lake, "a")
    clock.advance(2 * DAY)
    broken = FaultyBlocks(lake.blocks, fail_at("delete", 8, AnabranchError("killed")))
    breaking = Collector(lake.core, broken, tmp_path / "gc", clock=clock)
    with pytest.raises(AnabranchError, match="killed"):
        breaking.mark("sea", window_seconds=0).sweep()
    left = dead & stored(lake, "mem://sea")
    assert len(left) == 13
    clock.advance(1)
    with collector.mark("sea", window_seconds=0) as run:
        assert addresses(run.candidates()) == left
        assert run.sweep().swept.objects == 13
    assert dead & stored(lake, "mem://sea") == set()


def test_repository_deleted_after_marking_is_not_swept(lake, clock, collector):
    put(lake, "a"), put(lake, "a")
    commit(lake)
    clock.advance(2 * DAY)
    before = stored(lake, "mem://sea")
    with collector.mark("sea", window_seconds=0) as run:
        lake.repositories.delete("sea")
        with pytest.raises(NotFound):
            run.sweep()
    assert before <= stored(lake, "mem://sea")


def sweep_of(run, remover, **options):
    context = run.context
    return Sweep(context.reachability, remover, context.progress, sweep=context.run_id, **options)


def test_sweep_removes_at_most_the_given_rate(lake, clock, collector, monkeypatch):
    slept = []
    monkeypatch.setattr("anabranch.pipelines.garbage.sweeping.sweep.BATCH_SIZE", 2)

    for _ in range(7):
        put(lake, "a")
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        now = 0.0

        def sleep(seconds):
            nonlocal now
            slept.append(seconds)
            now += seconds

        deletion = Deletion(lake.blocks, run.context.namespace.prefix)
        remover = RemovalInBatches(deletion, 4, ticks=lambda: now, sleep=sleep)
        sweep = sweep_of(run, remover, ticks=lambda: now)
        assert [removed.objects for removed in sweep.remove(run.due())] == [2, 2, 2]
    assert slept == [0.5, 0.5, 0.5]


def test_each_round_of_a_long_sweep_marks_again(lake, clock, collector, monkeypatch):
    monkeypatch.setattr("anabranch.pipelines.garbage.sweeping.sweep.BATCH_SIZE", 2)

    dead = [put(lake, "a") for _ in range(6)]
    checksum = lake.objects.stat("sea", "main", "a").entry.checksum
    put(lake, "a")
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        ticks = iter(range(0, 10_000, 61))
        remover = RemovalInBatches(Deletion(lake.blocks, run.context.namespace.prefix))
        sweep = sweep_of(run, remover, ticks=lambda: next(ticks))
        results = sweep.remove(run.due())
        assert next(results).objects == 2
        (last,) = sorted(set(dead) & stored(lake, "mem://sea"))[-1:]
        lake.staging.stage(
            "sea", "main", "b", address=f"mem://sea/{last}", checksum=checksum, size=1
        )
        rest = list(results)
    assert sum(removed.objects for removed in rest) == 3
    assert sum(removed.revived for removed in rest) == 1
    assert set(dead) & stored(lake, "mem://sea") == {last}


def test_marking_before_each_round_adds_only_what_is_new(lake, clock, collector):
    """What a sweep remembers does not grow with the number of its rounds."""
    for number in range(9):
        put(lake, f"staged/{number}")
    clock.advance(2 * DAY)
    with collector.mark("sea") as run:
        hashes = run.reachability.hashes
        before = sum(map(len, hashes))
        assert before == 9
        for _ in range(5):
            run.reachability.mark()
        assert sum(map(len, hashes)) == before
        put(lake, "staged/new")
        for _ in range(5):
            run.reachability.mark()
        assert sum(map(len, hashes)) == before + 1
        assert run.reachability.statistics.uncommitted == 10


def test_passes_decode_each_commit_once(lake, collector, monkeypatch):
    """Later rounds of a sweep look for new commits, also those that no reference has any more."""
    lake.garbage_rules.set("sea", RetentionRules(30))
    for number in range(20):
        put(lake, f"{number}")
        commit(lake)
    decoded = []

    def decode(raw):
        found = commit_from(raw)
        decoded.append(found.id)
        return found

    monkeypatch.setattr("anabranch.versioning.garbage.retention.commit_from", decode)
    with collector.mark("sea") as run:
        fence = run.reachability.fence("s")
        with fence.register():
            fence.begin_round([], run.reachability.mark)
            assert len(decoded) == len(set(decoded)) == 21
            put(lake, "lost")
            lake.branches.create("sea", "lost", "main")
            put(lake, "lost", "lost")
            lost = lake.commits.commit("sea", "lost", message="m", committer="c").id
            lake.branches.delete("sea", "lost")
            decoded.clear()
            fence.begin_round([], run.reachability.mark)
    assert decoded == [lost]
    assert run.reachability.statistics.active_commits == 22


class LateRemoval:
    """Has time for eight objects in a round."""

    def __init__(self):
        self.sizes = RoundSizes(4, maximum=16, growth=math.inf)
        self.rounds = []

    def remove(self, of):
        rows = of.dead.num_rows
        self.rounds.append(rows)
        yield Removed(min(rows, 8), 0, late=max(0, rows - 8))


def test_rounds_are_smaller_after_one_that_was_late(lake, clock, collector):
    for _ in range(46):
        put(lake, "a")
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        remover = LateRemoval()
        results = list(sweep_of(run, remover).remove(run.due()))
    assert remover.rounds == [4, 16, 8, 8, 8, 1]
    assert sum(removed.late for removed in results) == 8


def test_all_tombstones_of_a_round_are_written_before_references_are_read(
    lake, collector, monkeypatch
):
    monkeypatch.setattr("anabranch.pipelines.garbage.fence._TOMBSTONES", 3)
    names = [f"data/{number}" for number in range(10)]
    written = []

    def mark():
        written.extend(key.decode() for key, _ in lake.keyvalue.scan("anabranch-sweeps/s"))

    with collector.mark("sea") as run:
        fence = run.reachability.fence("s")
        with fence.register():
            fence.begin_round(iter(names), mark)
    assert written == [f"mem://sea/{name}" for name in names]


class Throttled(FaultyBlocks):
    """A store that is busy for the first `times` requests of an operation."""

    def __init__(self, store, operation, times):
        self.left = times
        super().__init__(store, self.refuse)
        self.operation = operation

    def refuse(self, operation, _subject):
        if operation == self.operation and self.left:
            self.left -= 1
            raise Busy("SlowDown: reduce your request rate")


def test_throttled_removal_is_retried_with_increasing_delays(lake, clock, collector):
    dead = put(lake, "a")
    put(lake, "a")
    clock.advance(2 * DAY)
    with collector.mark("sea", window_seconds=0) as run:
        slept = []
        blocks = Throttled(lake.blocks, "delete", 3)
        deletion = Deletion(blocks, run.context.namespace.prefix, slept.append)
        sweep = sweep_of(run, RemovalInBatches(deletion))
        assert [removed.objects for removed in sweep.remove(run.due())] == [1]
    assert slept == [1.0, 4.0, 15.0]
    assert dead not in stored(lake, "mem://sea")


def test_store_that_keeps_throttling_fails_the_removal(lake):
    slept = []
    with pytest.raises(Busy):
        delete_with_backoff(
            Throttled(lake.blocks, "delete", 99),
            ["mem://sea/x"],
            Deadline.after(60),
            slept.append,
        )
    assert slept == sorted(slept)
    assert 60 < sum(slept) < 120


@pytest.mark.parametrize("operation", ["list", "put", "stat"])
def test_throttling_during_marking_fails_the_run_and_removes_nothing(
    lake, clock, tmp_path, collector, operation
):
    dead = put(lake, "a")
    put(lake, "a")
    clock.advance(2 * DAY)
    before = stored(lake, "mem://sea")
    blocks = Throttled(lake.blocks, operation, 1)
    throttled = Collector(lake.core, blocks, tmp_path / "gc", clock=clock)
    with pytest.raises(Busy):
        throttled.mark("sea", window_seconds=0)
    assert before <= stored(lake, "mem://sea")
    clock.advance(1)
    assert found(collector) == {dead}
