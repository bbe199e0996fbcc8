"""Pieces: together they hold what the whole holds, wherever ranges are cut."""

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


def written(folder, content):
    """Writes a tree and opens it."""
    metarange = _kernel.write_tree(sorted(content.items()), str(folder)).metarange_id
    return _kernel.Tables().tree(metarange, lambda table_id: f"{folder}/{table_id}")


def scanned(folder, ranges, prefix=b""):
    """Returns the records of a piece."""
    with open_range_tables(FolderTables(str(folder)), ranges) as tree:
        rows = pa.table(tree.scan(prefix=prefix, decoded=False)).to_pylist()
    return [(row["key"], (row["identity"], row["data"])) for row in rows]


def compared(folder, pair, prefix=b""):
    """Returns the differences in a piece."""
    files = FolderTables(str(folder))
    with open_range_tables(files, pair.left) as left, open_range_tables(files, pair.right) as right:
        return left.diff(right, prefix=prefix, amount=1000).rows


@FOLDER
@given(records(), prefixes, entries)
def test_pieces_of_a_tree(tmp_path, content, prefix, size):
    pieces = partition_ranges(list_ranges(written(tmp_path, content), prefix), size)
    found = [row for piece in pieces for row in scanned(tmp_path, piece, prefix)]
    assert found == tree_model.listing(content, prefix, b"", b"")
    assert all(pieces)


@FOLDER
@given(records(), records(), prefixes, entries)
def test_pieces_of_a_difference(tmp_path, before, after, prefix, size):
    left, right = written(tmp_path, before), written(tmp_path, after)
    pieces = partition_diff(list_ranges(left, prefix), list_ranges(right, prefix), size)
    found = [row for piece in pieces for row in compared(tmp_path, piece, prefix)]
    wanted = [row for row in tree_model.diff(before, after) if row[1].startswith(prefix)]
    assert found == wanted


# ranges cut elsewhere than the kernel cuts them: only their order matters
bounds = st.lists(st.integers(0, 60), unique=True, max_size=12).map(sorted)


def ranges(name, cuts):
    """Returns ranges between each two of the cuts; those of both sides with equal bounds are the
    same, now and then.
    """
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return [
        Range(
            f"{low}-{high}" if low % 3 == 0 else f"{name}{low}", bytes([low]), bytes([high]), 3, 1
        )
        for low, high in pairs
    ]


@given(bounds, bounds, st.integers(1, 12))
def test_no_key_is_in_two_pieces_and_no_range_is_lost(left_cuts, right_cuts, size):
    left, right = ranges("left", left_cuts), ranges("right", right_cuts)
    pieces = partition_diff(left, right, size)
    same = set(left) & set(right)
    assert [found for piece in pieces for found in piece.left] == [x for x in left if x not in same]
    assert [found for piece in pieces for found in piece.right] == [
        x for x in right if x not in same
    ]
    bounds = [
        (min(low for low, _ in keys), max(high for _, high in keys))
        for piece in pieces
        if (keys := [(found.min_key, found.max_key) for found in (*piece.left, *piece.right)])
    ]
    assert len(bounds) == len(pieces)
    assert all(one[1] < next_[0] for one, next_ in itertools.pairwise(bounds))


def test_planning_reads_no_range(tmp_path):
    tree = written(tmp_path, {key: value(key, 1) for key in KEYS})
    asked = []

    def locate(table_id):
        asked.append(table_id)
        return f"{tmp_path}/{table_id}"

    again = _kernel.Tables().tree(tree.metarange_id, locate)
    assert list_ranges(again) == list_ranges(tree)
    assert asked == [tree.metarange_id]


def test_pieces_have_the_size_that_is_asked_for():
    many = ranges("x", range(60))
    assert [len(piece) for piece in partition_ranges(many, 9)] == [3] * 10
    assert [len(piece) for piece in partition_ranges(many, 1)] == [1] * 30
    assert len(partition_ranges(many, 10**9)) == 1
    assert partition_ranges([]) == partition_diff([], []) == []
    assert partition_diff(many, many) == []
    assert partition_diff([], many[:1]) == [DiffPartition((), (many[0],))]


def test_a_table_that_is_not_there_or_damaged_is_named():
    with tempfile.TemporaryDirectory() as folder:
        tree = written(folder, {key: value(key, 1) for key in KEYS})
        found = list_ranges(tree)
        assert len(found) > len(CUTS) // 2
        first, second = (Path(folder, found[number].id) for number in (0, 1))
        first.unlink()
        files = FolderTables(folder)
        with pytest.raises(Corrupt, match=found[0].id):
            list(read_objects(files, "local://sea", b"", found[:1]))
        with pytest.raises(Gone, match=found[0].id):
            compared(folder, DiffPartition((), found[:1]))
        content = bytearray(second.read_bytes())
        content[3] ^= 1
        second.write_bytes(content)
        with pytest.raises(Corrupt, match=found[1].id):
            list(read_objects(files, "local://sea", b"", found[1:2]))
        with pytest.raises(Corrupt, match=found[1].id):
            compared(folder, DiffPartition(found[1:2], ()))
        scanned(folder, found[2:])
