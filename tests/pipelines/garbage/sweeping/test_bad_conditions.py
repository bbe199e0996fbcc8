"""Sweeps under bad conditions: killed runs, suspended machines, stores with outdated listings or
without permission to delete, a failing database, and nested namespaces.

The lake is in memory, with a manual clock. `test_bad_servers.py` and
`tests/cli/commands/garbage/test_garbage_in_buckets.py` cover servers and S3.
"""

from __future__ import annotations

import itertools
import time

import pytest
from support.garbage import DAY, addresses, commit, memory_lake, put, stored
from support.session.sizes import sized

from anabranch.blocks.memory import MemoryBlocks
from anabranch.errors import Busy, Conflict, Denied
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.collector import Collector
from anabranch.pipelines.garbage.fence import Deadline
from anabranch.pipelines.garbage.sweeping.removal import Deletion, delete_with_backoff
from anabranch.pipelines.garbage.sweeping.sweep import RemovalInBatches, Sweep
from anabranch.testing.stores import FaultyBlocks, FaultyStore
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, LEASE_SECONDS

EXPIRY = LEASE_SECONDS + CLOCK_SKEW_SECONDS + 1


def dead_object(lake, clock):
    """Creates a dead object that is due for removal; returns its address and its checksum."""
    address = put(lake, "left", body=b"left")
    checksum = lake.objects.stat("sea", "main", "left").entry.checksum
    lake.objects.delete("sea", "main", "left")
    put(lake, "stays")
    commit(lake)
    clock.advance(3 * DAY)
    return address, checksum


def stage(lake, address, checksum):
    full = f"mem://sea/{address}"
    lake.staging.stage("sea", "main", "again", address=full, checksum=checksum, size=4)


def readable(lake):
    return lake.objects.open("sea", "main", "again").read_bytes() == b"left"


# --- killed runs -------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["rules", "renewal", "end", "sweep"])
def test_tombstones_of_a_killed_run_are_removed_with_its_record(lake, clock, collector, change):
    address, _ = dead_object(lake, clock)
    sweeps = lake.core.sweeps
    with collector.mark("sea", window_seconds=0) as run:
        killed = run.summary.run_id
        sweeps.begin(killed)
        sweeps.add_tombstones(killed, [f"mem://sea/{address}"])
    clock.advance(LEASE_SECONDS)
    sweeps.begin("other")
    clock.advance(EXPIRY - LEASE_SECONDS)
    if change == "rules":
        sweeps.end("other")
        lake.garbage_rules.set("sea", RetentionRules(1))
    elif change == "renewal":
        sweeps.renew("other")
    elif change == "end":
        sweeps.end("other")
    else:
        sweeps.begin("third")
    assert list(lake.keyvalue.scan(f"anabranch-sweeps/{killed}")) == []


# --- suspended machines ------------------------------------------------------------------------


def test_collector_suspended_while_the_store_throttles_removes_nothing_after_its_deadline(
    lake, clock, collector, monkeypatch
):
    address, checksum = dead_object(lake, clock)
    began, suspended = time.time(), 0

    def suspend(_seconds):
        nonlocal suspended
        suspended += EXPIRY
        clock.advance(EXPIRY)
        stage(lake, address, checksum)
        assert readable(lake)

    monkeypatch.setattr(time, "time", lambda: began + suspended)
    with collector.mark("sea", window_seconds=0) as run:
        context, blocks = run.context, FaultyBlocks(lake.blocks, busy_once())
        remover = RemovalInBatches(Deletion(blocks, context.namespace.prefix, suspend))
        sweep = Sweep(context.reachability, remover, context.progress, sweep=context.run_id)
        with pytest.raises(Busy):
            list(sweep.remove(run.due()))
    assert readable(lake)


def busy_once():
    left = ["delete"]

    def before(operation, _subject):
        if operation in left:
            left.remove(operation)
            raise Busy("SlowDown: reduce your request rate")

    return before


def test_busy_delete_is_retried_until_the_deadline(lake):
    blocks, slept = FaultyBlocks(lake.blocks, busy_once()), []
    delete_with_backoff(blocks, ["mem://sea/x"], Deadline.after(60), slept.append)
    assert slept == [1.0]
    with pytest.raises(Busy):
        delete_with_backoff(
            FaultyBlocks(lake.blocks, busy_once()),
            ["mem://sea/x"],
            Deadline(0.0, 0.0),
            slept.append,
        )


# --- stores with outdated listings -------------------------------------------------------------


class Listing(FaultyBlocks):
    """A store that returns `transform` of each listing."""

    def __init__(self, store, transform):
        super().__init__(store, lambda _operation, _subject: None)
        self.transform = transform

    def list(self, prefix, after=""):
        return iter(self.transform([*self.store.list(prefix, after)]))


def collector_over(lake, blocks, clock, folder):
    return Collector(lake.core, blocks, folder / "other", clock=clock)


def test_sweep_with_an_hour_old_listing_keeps_newer_and_restaged_objects(lake, clock, tmp_path):
    gone, _ = dead_object(lake, clock)
    dead = put(lake, "over")
    put(lake, "over")
    back = put(lake, "back", body=b"left")
    checksum = lake.objects.stat("sea", "main", "back").entry.checksum
    lake.objects.delete("sea", "main", "back")
    clock.advance(3 * DAY)
    before = list(lake.blocks.list("mem://sea/data/"))
    clock.advance(3600)
    lake.blocks.delete([f"mem://sea/{gone}"])
    stage(lake, back, checksum)
    new = {put(lake, f"new-{number}") for number in range(3)}
    commit(lake)
    late = Listing(lake.blocks, lambda _: before)
    with collector_over(lake, late, clock, tmp_path).mark("sea", window_seconds=0) as run:
        assert addresses(run.candidates()) == {gone, dead}
        summary = run.sweep()
    assert summary.missing.objects == 0
    there = stored(lake, "mem://sea")
    assert new < there
    assert dead not in there
    assert readable(lake)


@pytest.mark.parametrize("shown", [True, False])
def test_objects_stored_during_marking_are_kept_whether_listed_or_not(lake, clock, tmp_path, shown):
    dead, _ = dead_object(lake, clock)
    new = []

    def store_objects(before):
        new.append(put(lake, "linked"))  # referenced from now on
        full = f"mem://sea/{lake.core.identifiers.data_address()}"
        lake.blocks.put(full, [b"x"])  # not referenced yet
        new.append(full.removeprefix("mem://sea/"))
        return list(lake.blocks.list("mem://sea/data/")) if shown else before

    late = Listing(lake.blocks, store_objects)
    with collector_over(lake, late, clock, tmp_path).mark("sea", window_seconds=0) as run:
        assert addresses(run.candidates()) == {dead}
        assert run.sweep().missing.objects == 0
    assert {*new} < stored(lake, "mem://sea")


def test_objects_that_a_listing_omits_are_neither_missing_nor_removed(lake, clock, tmp_path):
    dead, _ = dead_object(lake, clock)
    clock.advance(DAY)
    late = Listing(lake.blocks, lambda _: [])
    with collector_over(lake, late, clock, tmp_path).mark("sea", window_seconds=0) as run:
        summary = run.sweep()
    assert (summary.missing.objects, summary.swept.objects) == (0, 0)
    assert dead in stored(lake, "mem://sea")


# --- collectors without permission to delete ---------------------------------------------------


def test_store_that_forbids_deletes_fails_the_sweep_and_nothing_is_removed(
    lake, clock, collector, tmp_path
):
    address, checksum = dead_object(lake, clock)
    before = stored(lake, "mem://sea")

    def forbid(operation, _subject):
        if operation == "delete":
            raise Denied("no right to delete", kind="storage_denied")

    forbidden = collector_over(lake, FaultyBlocks(lake.blocks, forbid), clock, tmp_path)
    with forbidden.mark("sea", window_seconds=0) as run:
        with pytest.raises(Denied, match="no right to delete"):
            run.sweep()
        assert (run.summary.state, run.summary.swept.objects) == ("failed", 0)
    assert before < stored(lake, "mem://sea")
    # the store may still perform the requested removal until the lease expires
    with pytest.raises(Conflict) as refused:
        stage(lake, address, checksum)
    assert (refused.value.kind, bool(refused.value.hint)) == ("being_removed", True)
    clock.advance(EXPIRY)
    stage(lake, address, checksum)
    with collector.mark("sea", window_seconds=0) as run:
        assert run.sweep().swept.objects == 0
    assert readable(lake)
    assert lake.core.sweeps.running()[0] == []


# --- a failing database ------------------------------------------------------------------------


@pytest.mark.parametrize("for_good", [True, False])
@pytest.mark.sample(1)
def test_database_failure_at_any_step_of_a_sweep_loses_no_referenced_object(
    tmp_path, clock, for_good
):
    for number in itertools.count(step=sized(8, weekly=1)):
        state = {"left": -1, "down": False}

        def fail(_operation, _partition, state=state):
            if state["down"] or state["left"] == 0:
                state["down"] = for_good
                state["left"] = -1
                raise Busy("the database is not there")
            state["left"] -= state["left"] > 0

        folder = tmp_path / str(number)
        folder.mkdir()
        with Lake(
            FaultyStore(MemoryStore(), fail),
            MemoryBlocks(clock=clock),
            cache_folder=folder / "cache",
            signing_secret=b"a secret of tests",
            clock=clock,
        ) as lake:
            lake.repositories.create("sea", "mem://sea")
            address, checksum = dead_object(lake, clock)
            collector = Collector(lake.core, lake.blocks, folder / "gc", clock=clock)
            run = collector.mark("sea", window_seconds=0)
            state["left"] = number
            try:
                run.sweep()
            except Busy:
                failed = True
            else:
                failed = state["left"] < 0
            state.update(left=-1, down=False)
            if not failed:
                break
            there = address in stored(lake, "mem://sea")
            if there:
                clock.advance(EXPIRY if for_good else 0)
                stage(lake, address, checksum)
            clock.advance(EXPIRY)
            with collector.mark("sea", window_seconds=0) as again:
                assert again.sweep().missing.objects == 0
            assert not there or readable(lake)
            assert lake.core.sweeps.running()[0] == []
    assert number > 10


# --- nested namespaces -------------------------------------------------------------------------

XID = "cl9v204p8puinreq5ilg"


@pytest.mark.parametrize(
    "inner",
    ["mem://lake2", "mem://lake/inner", "mem://lake/data", f"mem://lake/data/{XID}", "mem://lak"],
)
@pytest.mark.parametrize("collected", ["outer", "inner"])
@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.sample(2)
def test_namespaces_with_a_common_prefix_are_collected_separately(
    tmp_path, clock, inner, collected, committed
):
    namespaces = {"outer": "mem://lake", "inner": inner}
    with memory_lake(tmp_path, clock) as lake:
        dead = {}
        for name, namespace in namespaces.items():
            lake.repositories.create(name, namespace)
            dead[name] = put(lake, "a", repository=name, body=b"dead")
            put(lake, "a", repository=name, body=name.encode())
        borrowed = f"{inner}/{dead['inner']}"
        checksum = lake.objects.stat("inner", "main", "a").entry.checksum
        clock.advance(3 * DAY)
        before = {block.address for block in lake.blocks.list("mem://")}
        collector = Collector(lake.core, lake.blocks, tmp_path / "gc", clock=clock)
        with collector.mark(collected, window_seconds=0) as run:
            assert addresses(run.candidates()) == {dead[collected]}
            assert run.sweep().missing.objects == 0
        after = {block.address for block in lake.blocks.list("mem://")}
        assert before - after == {f"{namespaces[collected]}/{dead[collected]}"}
        if collected == "outer":  # this repository can reference objects of the inner namespace
            lake.staging.stage("outer", "main", "b", address=borrowed, checksum=checksum, size=4)
            if committed:
                lake.commits.commit("outer", "main", committer="me", message="m")
            clock.advance(DAY)
            with collector.mark("inner", window_seconds=0) as run:
                assert run.sweep().swept.objects == 0
            assert lake.objects.open("outer", "main", "b").read_bytes() == b"dead"
        for name in namespaces:
            assert lake.objects.open(name, "main", "a").read_bytes() == name.encode()
