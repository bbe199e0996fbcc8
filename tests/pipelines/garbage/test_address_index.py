"""The address index: which ranges are read, and errors of unreadable ranges."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from support.garbage import DAY, commit, found, put, stored

from anabranch.errors import Corrupt, Gone
from anabranch.model.repositories.retention import RetentionRules
from anabranch.pipelines.column_hashes import hash_addresses
from anabranch.pipelines.garbage.addresses import address_index
from anabranch.pipelines.garbage.addresses.address_index import index_tree
from anabranch.pipelines.garbage.addresses.namespace import to_namespace


def test_run_reads_only_ranges_without_a_cached_index(lake, collector, tmp_path):
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


def test_equal_content_at_another_address_changes_the_range(lake, clock, collector):
    """Indexes are cached by range id, which must therefore depend on the addresses."""
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
    assert {first, second} <= stored(lake, "mem://sea")


def test_indexes_of_unused_ranges_are_removed(lake, clock, collector, tmp_path):
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


@pytest.mark.parametrize("damage", [None, b"", b"no table at all"])
def test_unreadable_range_fails_the_run_and_is_named(lake, clock, collector, tmp_path, damage):
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
    before = stored(lake, "mem://sea")
    with pytest.raises((Gone, Corrupt), match=lost.id):
        collector.mark("sea", window_seconds=0)
    (summary,) = stored(lake, "mem://sea") - before
    content = json.loads(lake.blocks.read(f"mem://sea/{summary}"))
    assert content["state"] == "failed"
    assert lost.id in content["error"]
    assert before <= stored(lake, "mem://sea")


@pytest.mark.parametrize(
    "others",
    [
        [],
        ["data/" + "c" * 20 + "/" + "d" * 20 + "," + "s" * 43],
        ["mem://sea/data/" + "c" * 20 + "/" + "e" * 20],
        ["mem://elsewhere/data/" + "c" * 16],
        ["data/x", "data/" + "\N{LATIN SMALL LETTER A WITH DIAERESIS}" * 20],
    ],
)
def test_index_of_encoded_entries_equals_that_of_decoded_ones(lake, others):
    """Both ways to read entries give the hashes of their addresses."""
    scenario = lake.core.repositories.get("sea")
    lake.repositories.create("land", "mem://land")
    land = lake.core.repositories.get("land")
    expected = {put(lake, f"{number}") for number in range(20)}
    for number, address in enumerate(others):
        full = address if "://" in address else f"mem://sea/{address}"
        lake.staging.stage("sea", "main", f"x{number}", address=full, checksum="0" * 32, size=1)
        if full.startswith("mem://sea/"):
            expected.add(full.removeprefix("mem://sea/"))
    tree = lake.core.trees.open(scenario, commit(lake).metarange_id)
    namespace = to_namespace(scenario, lake.blocks)
    hashes, rows = index_tree(tree, namespace.resolver(scenario), "here")
    assert rows == 20 + len(others)
    assert hashes.tolist() == sorted(hash_addresses(pa.array(sorted(expected))).tolist())
    # also if the tree is read for another repository
    for resolver in (namespace.resolver(scenario), namespace.resolver(land)):
        hashes, rows = index_tree(tree, resolver, "here")
        expected_hashes, expected_rows = address_index._index_decoded(tree, resolver)
        assert (hashes.tolist(), rows) == (expected_hashes.tolist(), expected_rows)
