"""The trees of commits and of a merge that a lakeFS 1.84.0 server wrote."""

from __future__ import annotations

import filecmp
import json

import pyarrow as pa
import pytest
from support.formats.sstable import decode_value
from support.recorded.recorded_trees import load_trees

from anabranch import _kernel


@pytest.fixture(scope="module")
def first(recorded):
    return recorded.tree("first")


def messages(recorded):
    """Returns the messages of all commits with a tree."""
    return [name for name, commit in recorded.commits.items() if commit["meta_range_id"]]


def steps(recorded):
    """Returns the messages of all commits with a tree and of each of their parents."""
    return [(parent, name) for name in messages(recorded) for parent in recorded.parents(name)]


def objects_of(tree):
    """Returns all objects of a tree, as they are staged."""
    columns = pa.table(tree.scan())
    assert set(columns["address_type"].to_pylist()) <= {2}
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


def differences(old, new):
    """Returns the kinds and paths of changes between objects by path."""
    paths = sorted(old.keys() | new.keys(), key=str.encode)
    return [
        ("added" if path not in old else "changed" if path in new else "removed", path)
        for path in paths
        if old.get(path) != new.get(path)
    ]


def test_trees_hold_the_objects_that_were_committed(recorded):
    for name in messages(recorded):
        assert objects_of(recorded.tree(name)) == list(recorded.objects(name).values())


def test_json_of_a_listing_shows_the_objects(recorded, first):
    listing = first.listing(amount=1000)
    listing.feed([], last=True)
    stats = json.loads(listing.object_stats_json("local://lake", user_metadata=True))
    expected = list(recorded.objects("first").values())[:1000]
    optional = {"metadata": {}, "content_type": "application/octet-stream"}
    assert [optional | each for each in stats] == [
        each | {"path_type": "object"} for each in expected
    ]


@pytest.mark.slow
def test_difference_is_what_was_changed(recorded):
    for before, after in steps(recorded):
        rows = recorded.tree(before).diff(recorded.tree(after), amount=10_000).rows
        expected = differences(recorded.objects(before), recorded.objects(after))
        assert expected
        assert [(kind, key.decode()) for kind, key, _, _ in rows] == expected


def test_changes_make_the_next_tree(recorded, tmp_path, first):
    for name in recorded.changes.keys() - {"first"}:
        after = recorded.tree(name)
        rows = first.diff(after, amount=10_000).rows
        written = first.apply([(key, new) for _, key, _, new in rows], str(tmp_path))
        assert written.metarange_id == after.metarange_id
        kept = {info.id for info in first.ranges()}
        ids = [info.id for info in after.ranges()]
        assert written.tables == [*(each for each in ids if each not in kept), after.metarange_id]
        kinds = [kind for kind, *_ in rows]
        assert (written.added, written.changed, written.removed) == (
            *map(kinds.count, ("added", "changed", "removed")),
        )


def test_records_make_the_files_of_each_tree(recorded, tmp_path):
    for name in messages(recorded):
        tree = recorded.tree(name)
        for info in tree.ranges():
            raw = _kernel.table_records(str(recorded.tables / info.id))
            records = [(key, decode_value(value)) for key, value in raw]
            written = _kernel.write_tree(records, str(tmp_path))
            assert recorded.open(written.metarange_id, tmp_path).ranges() == [info]
            assert filecmp.cmp(tmp_path / info.id, recorded.tables / info.id, shallow=False)
        metarange_id = _kernel.write_metarange(tree.ranges(), str(tmp_path))
        assert metarange_id == tree.metarange_id
        theirs = recorded.tables / metarange_id
        assert filecmp.cmp(tmp_path / metarange_id, theirs, shallow=False)


def test_all_records_make_the_first_tree(first, tmp_path):
    """Later trees are cut where their history cut them, too."""
    ranges = _kernel.write_ranges_arrow(first.scan(decoded=False), str(tmp_path))
    assert ranges == first.ranges()
    written = _kernel.write_arrow(first.scan(decoded=False), str(tmp_path))
    assert written.metarange_id == first.metarange_id


def test_merge_into_an_ancestor_writes_nothing(recorded, first, tmp_path):
    second = recorded.tree("second")
    merged = first.merge(second, first, str(tmp_path))
    assert merged.written.metarange_id == second.metarange_id
    assert merged.written.tables == []


def test_merge_keeps_a_change_of_the_destination(recorded, first, tmp_path):
    second = recorded.tree("second")
    rows = first.diff(second, amount=10_000).rows
    key = next(key for kind, key, _, _ in rows if kind == "changed") + b"++"
    value = _kernel.encode_entry("a", 1, 0, 0, 0, "", {}, "")
    changed = first.apply([(key, value)], str(tmp_path))
    dest = recorded.open(changed.metarange_id, tmp_path)
    written = dest.merge(second, first, str(tmp_path)).written
    kinds = [kind for kind, *_ in rows]
    assert (written.added, written.changed, written.removed) == (
        *map(kinds.count, ("added", "changed", "removed")),
    )
    merged = recorded.open(written.metarange_id, tmp_path)
    assert second.diff(merged, amount=5).rows == [("added", key, None, value)]


def test_merge_makes_the_tree_of_lakefs(tmp_path):
    small = load_trees()
    ours, theirs = small.parents("merge")
    (base,) = small.parents(ours)
    merged = small.tree(ours).merge(small.tree(theirs), small.tree(base), str(tmp_path))
    assert merged.conflicts == []
    assert merged.written.metarange_id == small.tree("merge").metarange_id
