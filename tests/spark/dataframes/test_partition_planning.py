"""Partitions of trees: together they have all entries and differences of the trees."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import hypothesis
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel
from anabranch.errors import Corrupt, Gone
from anabranch.spark.dataframes.objects import read_objects
from anabranch.spark.planning.key_range import ALL_KEYS, KeyRange
from anabranch.spark.planning.partition_planning import (
    DiffPartition,
    Range,
    list_ranges,
    partition_diff,
    partition_ranges,
)
from anabranch.spark.sources.table_files import FolderTables, open_range_tables
from anabranch.testing import tree_model
from anabranch.testing.tree_strategies import CUTS, KEYS, prefixes, records, value

FOLDER = hypothesis.settings(
    deadline=None, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
entries = st.integers(1, 40)


def write_tree(folder, content):
    """Writes a tree and opens it."""
    metarange = _kernel.write_tree(sorted(content.items()), str(folder)).metarange_id
    return _kernel.Tables().tree(metarange, lambda table_id: f"{folder}/{table_id}")


def scan(folder, ranges, prefix=b""):
    """Returns the records of ranges."""
    with open_range_tables(FolderTables(str(folder)), ranges) as tree:
        rows = pa.table(tree.scan(prefix=prefix, decoded=False)).to_pylist()
    return [(row["key"], (row["identity"], row["data"])) for row in rows]


def diff(folder, partition, prefix=b""):
    """Returns the differences between the ranges of a partition."""
    files = FolderTables(str(folder))
    with (
        open_range_tables(files, partition.left) as left,
        open_range_tables(files, partition.right) as right,
    ):
        return left.diff(right, prefix=prefix, amount=1000).rows


@FOLDER
@given(records(), prefixes, entries)
def test_partitions_have_all_entries_of_a_tree(tmp_path, content, prefix, size):
    partitions = partition_ranges(
        list_ranges(write_tree(tmp_path, content), KeyRange(prefix)), size
    )
    rows = [row for each in partitions for row in scan(tmp_path, each, prefix)]
    assert rows == tree_model.listing(content, prefix, b"", b"")
    assert all(partitions)


@FOLDER
@given(records(), records(), prefixes, entries)
def test_partitions_have_all_differences_of_two_trees(tmp_path, before, after, prefix, size):
    left, right = write_tree(tmp_path, before), write_tree(tmp_path, after)
    keys = KeyRange(prefix)
    partitions = partition_diff(list_ranges(left, keys), list_ranges(right, keys), size)
    rows = [row for each in partitions for row in diff(tmp_path, each, prefix)]
    expected = [row for row in tree_model.diff(before, after) if row[1].startswith(prefix)]
    assert rows == expected


# with other boundaries than the kernel's: planning depends only on the order of ranges
bounds = st.lists(st.integers(0, 60), unique=True, max_size=12).map(sorted)


def ranges(name, bounds):
    """Returns a range for each pair of bounds. A third of them are equal for all names."""
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    return [
        Range(
            f"{low}-{high}" if low % 3 == 0 else f"{name}{low}", bytes([low]), bytes([high]), 3, 1
        )
        for low, high in pairs
    ]


@given(bounds, bounds, st.integers(1, 12))
def test_partitions_do_not_overlap_and_have_all_different_ranges(left_bounds, right_bounds, size):
    left, right = ranges("left", left_bounds), ranges("right", right_bounds)
    partitions = partition_diff(left, right, size)
    shared = set(left) & set(right)
    for side, tree in (("left", left), ("right", right)):
        planned = [each for partition in partitions for each in getattr(partition, side)]
        assert planned == [each for each in tree if each not in shared]
    spans = [
        (min(low for low, _ in keys), max(high for _, high in keys))
        for partition in partitions
        if (keys := [(x.min_key, x.max_key) for x in (*partition.left, *partition.right)])
    ]
    assert len(spans) == len(partitions)
    assert all(one[1] < following[0] for one, following in itertools.pairwise(spans))


def test_planning_reads_only_the_metarange(tmp_path):
    tree = write_tree(tmp_path, {key: value(key, 1) for key in KEYS})
    requested = []

    def locate(table_id):
        requested.append(table_id)
        return f"{tmp_path}/{table_id}"

    reopened = _kernel.Tables().tree(tree.metarange_id, locate)
    assert list_ranges(reopened) == list_ranges(tree)
    assert requested == [tree.metarange_id]


def test_partitions_have_the_requested_size():
    many = ranges("x", range(60))
    assert [len(each) for each in partition_ranges(many, 9)] == [3] * 10
    assert [len(each) for each in partition_ranges(many, 1)] == [1] * 30
    assert len(partition_ranges(many, 10**9)) == 1
    assert partition_ranges([]) == partition_diff([], []) == []
    assert partition_diff(many, many) == []
    assert partition_diff([], many[:1]) == [DiffPartition((), (many[0],))]


def test_error_names_the_missing_or_damaged_table():
    with tempfile.TemporaryDirectory() as folder:
        tree = write_tree(folder, {key: value(key, 1) for key in KEYS})
        listed = list_ranges(tree)
        assert len(listed) > len(CUTS) // 2
        first, second = (Path(folder, listed[number].id) for number in (0, 1))
        first.unlink()
        files = FolderTables(folder)
        with pytest.raises(Corrupt, match=listed[0].id):
            list(read_objects(files, "local://sea", ALL_KEYS, listed[:1]))
        with pytest.raises(Gone, match=listed[0].id):
            diff(folder, DiffPartition((), listed[:1]))
        content = bytearray(second.read_bytes())
        content[3] ^= 1
        second.write_bytes(content)
        with pytest.raises(Corrupt, match=listed[1].id):
            list(read_objects(files, "local://sea", ALL_KEYS, listed[1:2]))
        with pytest.raises(Corrupt, match=listed[1].id):
            diff(folder, DiffPartition(listed[1:2], ()))
        scan(folder, listed[2:])
