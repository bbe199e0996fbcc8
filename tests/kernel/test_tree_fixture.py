"""The trees of two commits that a lakeFS 1.84.0 server wrote."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest

from anabranch import _kernel

from .conftest import Lake


@pytest.fixture(scope="module")
def objects(fixture):
    """What was put into lakeFS before each commit: objects by path."""
    with gzip.open(fixture / "first-commit-objects.jsonl.gz", "rt") as lines:
        first = {each["path"]: each for each in map(json.loads, lines)}
    changes = json.loads((fixture / "second-commit-changes.json").read_text())
    return first, changes


def shown(entry):
    """Returns an object as lakeFS shows what it was given."""
    optional = {"metadata": {}, "content_type": "application/octet-stream"}
    return optional | {name: given for name, given in entry.items() if given is not None}


def objects_of(tree):
    """Returns all objects of a tree in the same shape."""
    columns = pa.table(tree.scan())
    assert set(columns["address_type"].to_pylist()) == {2}
    seconds = columns["last_modified"].cast(pa.timestamp("s", "UTC")).cast(pa.int64())
    parts = {
        "path": columns["path"].to_pylist(),
        "physical_address": columns["physical_address"].to_pylist(),
        "checksum": columns["checksum"].to_pylist(),
        "size_bytes": columns["size"].to_pylist(),
        "mtime": seconds.to_pylist(),
        "metadata": map(dict, columns["metadata"].to_pylist()),
        "content_type": columns["content_type"].to_pylist(),
    }
    return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]


def changed(changes, name):
    return [each["path"] if isinstance(each, dict) else each for each in changes[name]]


def test_the_objects_are_those_that_were_committed(fixture_trees, objects):
    first, changes = objects
    first_tree, second_tree = fixture_trees
    assert objects_of(first_tree) == [shown(each) for each in first.values()]
    second = dict(first)
    for path in changed(changes, "deleted"):
        del second[path]
    for each in (*changes["replaced"], *changes["added"]):
        second[each["path"]] = each
    by_path = sorted(second.items(), key=lambda item: item[0].encode())
    assert objects_of(second_tree) == [shown(each) for _, each in by_path]


def test_the_json_is_that_of_the_objects(fixture_trees, objects):
    first, _ = objects
    listing = fixture_trees[0].listing(amount=1000)
    listing.feed([], last=True)
    stats = json.loads(listing.object_stats_json("local://lake", user_metadata=True))
    expected = [shown(each) for each in list(first.values())[:1000]]
    assert [shown(each) for each in stats] == [each | {"path_type": "object"} for each in expected]


def test_the_difference_is_what_was_changed(fixture_trees, objects):
    _, changes = objects
    rows = fixture_trees[0].diff(fixture_trees[1], amount=1000).rows
    expected = [
        *(("changed", path) for path in changed(changes, "replaced")),
        *(("added", path) for path in changed(changes, "added")),
        *(("removed", path) for path in changed(changes, "deleted")),
    ]
    found = [(kind, key.decode()) for kind, key, _, _ in rows]
    assert found == sorted(expected, key=lambda row: row[1].encode())


def test_the_changes_make_the_second_tree_of_the_first(fixture_trees, tmp_path):
    first, second = fixture_trees
    changes = [(key, new) for _, key, _, new in first.diff(second, amount=1000).rows]
    written = first.apply(changes, str(tmp_path))
    assert written.metarange_id == second.metarange_id
    kept = {info.id for info in first.ranges()}
    ids = [info.id for info in second.ranges()]
    assert written.tables == [*(name for name in ids if name not in kept), second.metarange_id]
    assert (written.added, written.changed, written.removed) == (30, 40, 30)


def test_the_records_make_the_same_trees(fixture_trees, tmp_path):
    lake = Lake(tmp_path)
    for tree in fixture_trees:
        ranges = _kernel.write_ranges_arrow(tree.scan(decoded=False), str(lake.folder))
        assert {info.id for info in ranges} <= lake.names()
    first = fixture_trees[0]
    written = _kernel.write_arrow(first.scan(decoded=False), str(lake.folder))
    assert written.metarange_id == first.metarange_id
    assert _kernel.write_metarange(first.ranges(), str(lake.folder)) == first.metarange_id


def test_a_merge_of_the_second_into_the_first(fixture_trees, tmp_path):
    first, second = fixture_trees
    merged = first.merge(second, first, str(tmp_path))
    assert merged.written.metarange_id == second.metarange_id
    assert merged.written.tables == []


def test_a_merge_of_the_second_into_what_we_made_of_the_first(fixture, fixture_trees, tmp_path):
    first, second = fixture_trees
    tables = _kernel.Tables()

    def open_tree(metarange_id):
        def locate(table_id):
            ours = tmp_path / table_id
            return str(ours if ours.exists() else fixture / "_lakefs" / table_id)

        return tables.tree(metarange_id, locate)

    key = b"events/day=012/part-0060000.parquet+"
    value = _kernel.encode_entry("a", 1, 0, 0, 0, "", {}, "")
    dest = open_tree(first.apply([(key, value)], str(tmp_path)).metarange_id)
    written = dest.merge(second, first, str(tmp_path)).written
    assert (written.added, written.changed, written.removed) == (30, 40, 30)
    rows = second.diff(open_tree(written.metarange_id), amount=5).rows
    assert rows == [("added", key, None, value)]
