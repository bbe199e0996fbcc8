"""Runs of garbage collection: which objects are candidates, one rule at a time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.garbage import DAY, addresses, commit, found, memory_lake, put, stored

from anabranch.errors import Gone
from anabranch.keyvalue.contract import Write
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.garbage.addresses.listing import LISTING, list_slice
from anabranch.pipelines.garbage.addresses.namespace import to_namespace
from anabranch.pipelines.garbage.collector import Collector
from anabranch.testing.lake import Clock
from anabranch.versioning.records import keys


def test_object_overwritten_before_its_commit_is_a_candidate(lake, clock, collector):
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
    assert second in stored(lake, "mem://sea")


def test_objects_of_commits_expired_by_rules_are_candidates(lake, clock, collector):
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


def test_files_with_other_names_are_not_candidates(lake, clock, collector):
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
    assert set(strays) <= stored(lake, "mem://sea")


def test_object_at_a_generated_address_is_kept_for_the_grace_period(lake, clock, collector):
    address = lake.staging.new_address("sea", "main", "a")
    clock.advance(DAY)
    lake.blocks.put(address, [b"1"])
    assert found(collector) == set()
    clock.advance(DAY)
    assert found(collector) == set()
    clock.advance(1)
    assert found(collector) == {address.removeprefix("mem://sea/")}


def test_address_of_an_old_unfinished_upload_is_reachable(lake, clock, collector):
    upload = lake.uploads.create("sea", "main", "big")
    # the modification time in S3 of a completed upload is the beginning of the upload
    lake.blocks.put(upload.block, [b"1"])
    clock.advance(30 * DAY)
    assert found(collector) == set()
    lake.uploads.abort("sea", "main", "big", upload.id)
    assert found(collector) == set()  # for another hour
    clock.advance(3601)
    lake.uploads.clean()
    assert found(collector) == {upload.address}


def test_object_referenced_by_another_repository_is_reachable(lake, clock, collector):
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


def test_entry_of_a_sealed_area_hidden_by_a_newer_change_is_reachable(lake, clock, collector):
    older = put(lake, "a")
    scenario = lake.core.repositories.get("sea")

    lake.core.committer.seal(scenario, "main")
    newer = put(lake, "a")
    clock.advance(2 * DAY)
    assert found(collector) == set()
    assert {older, newer} <= stored(lake, "mem://sea")


def test_run_time_is_the_earlier_of_collector_and_store_clocks(lake, clock, tmp_path):
    put(lake, "a"), put(lake, "a")
    folder = tmp_path / "gc"
    ahead = Collector(lake.core, lake.blocks, folder, clock=lambda: clock.now + 100 * DAY)
    with ahead.mark("sea") as run:
        assert addresses(run.candidates()) == set()
        assert run.summary.clock_ahead_seconds == 100 * DAY
    clock.advance(50 * DAY)
    behind = Collector(lake.core, lake.blocks, folder, clock=lambda: clock.now - 50 * DAY)
    assert found(behind) == set()


def test_age_of_an_object_is_by_the_later_of_its_two_times(lake, clock, collector):
    clock.advance(50 * DAY)
    named_later = lake.core.identifiers.data_address()
    clock.advance(-50 * DAY)
    lake.blocks.put(f"mem://sea/{named_later}", [b"1"])
    clock.advance(40 * DAY)
    assert found(collector) == set()
    clock.advance(12 * DAY)
    assert found(collector) == {named_later}


def test_missing_commit_fails_the_run(lake, collector):
    put(lake, "a")
    first = commit(lake)
    put(lake, "b")
    commit(lake)
    scenario = lake.core.repositories.get("sea")

    lake.keyvalue.apply([Write(scenario.partition, keys.commit(first.id), None)])
    lake.core.commits._cache.clear()
    lake.garbage_rules.set("sea", RetentionRules(1))
    with pytest.raises(Gone, match=first.id):
        collector.mark("sea")


def test_repository_being_deleted_does_not_fail_a_run_of_another(lake, clock, collector):
    lake.repositories.create("land", "mem://land")
    dead = put(lake, "a")
    put(lake, "a")
    put(lake, "a", repository="land")
    lake.commits.commit("land", "main", committer="me", message="m")
    clock.advance(2 * DAY)
    real = lake.core.tags.all

    def tags(repository):
        """Deletes `land` after its branches and before its commits are read."""
        if repository.id == "land":
            lake.repositories.delete("land")
        return real(repository)

    lake.core.tags.all = tags
    assert found(collector) == {dead}


def test_given_listing_replaces_listing_the_store(lake, clock, collector):
    first = put(lake, "a")
    put(lake, "a")
    clock.advance(2 * DAY)
    assert found(collector, listing=[]) == set()

    namespace = to_namespace(lake.core.repositories.get("sea"), lake.blocks)
    assert found(collector, listing=list(list_slice(lake.blocks, namespace.prefix))) == {first}


@given(
    rows=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=30),
    batch=st.integers(1, 7),
)
def test_object_that_a_given_listing_repeats_is_a_candidate_once(rows, batch):
    """The newest of its rows counts, the first of several with one time."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, memory_lake(folder, clock) as lake:
        lake.repositories.create("sea", "mem://sea")
        names = [put(lake, "a") for _ in range(6)]
        lake.objects.delete("sea", "main", "a")
        clock.advance(2 * DAY)
        columns = [[], [], []]
        for number, (name, mtime) in enumerate(rows):
            for column, value in zip(columns, (names[name], number, mtime), strict=True):
                column.append(value)
        table = pa.Table.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, LISTING, strict=True)],
            schema=LISTING,
        )
        collector = Collector(lake.core, lake.blocks, Path(folder, "gc"), clock=clock)
        with collector.mark("sea", listing=table.to_batches(max_chunksize=batch)) as run:
            candidates = [row for each in run.candidates() for row in each.to_pylist()]
            total = run.summary.candidates
    expected = {}
    for number, (name, mtime) in enumerate(rows):
        if mtime > expected.get(names[name], (0, 0))[1]:
            expected[names[name]] = (number, mtime)
    assert {row["address"]: (row["size"], row["mtime"]) for row in candidates} == expected
    assert len(candidates) == len(expected) == total.objects
    assert total.bytes == sum(size for size, _ in expected.values())
