"""Parts of trees: together they have all differences, and each is read from parts of the files."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel
from anabranch.testing import tree_model
from anabranch.testing.tree_strategies import changes, records

from .conftest import patient


def spans(tree, parts):
    """Returns the keys of each part of a tree."""
    return [tree.part(number, parts) for number in range(parts)]


def sparse_copy(lake, folder, tree, after, until):
    """Copies a tree to a folder, of each range only what a walk over these keys may read."""
    for info in tree.ranges():
        content = (lake.folder / info.id).read_bytes()
        start = len(content) - 60
        while (begin := _kernel.table_index_start(content[start:], len(content))) < start:
            start = begin
        spots = [(start, len(content))]
        if until is None or after < until:
            spots.append(_kernel.table_span(str(lake.folder / info.id), after, until))
        kept = bytearray(len(content))
        for low, high in spots:
            kept[low:high] = content[low:high]
        Path(folder, info.id).write_bytes(kept)
    if tree.metarange_id:
        shutil.copy(lake.folder / tree.metarange_id, folder)
    return _kernel.Tables().tree(tree.metarange_id, lambda table_id: f"{folder}/{table_id}")


def paged_diff(left, right, after, until, amount):
    """Returns the differences of these keys, read in pages."""
    rows = []
    more = until is None or after < until
    while more:
        page = left.diff(right, after=after, until=until, amount=amount)
        rows += page.rows
        more = page.has_more
        after = page.rows[-1][1] if page.rows else after
    return rows


@patient
@given(records(), changes(), changes(), st.integers(1, 7), st.integers(1, 9))
def test_parts_have_all_differences(lake, shared, one, other, parts, amount):
    left, left_records = lake.commit(shared, one)
    right, right_records = lake.commit(shared, other)
    rows = []
    for after, until in spans(right, parts):
        with tempfile.TemporaryDirectory() as folder:
            sides = [sparse_copy(lake, folder, tree, after, until) for tree in (left, right)]
            rows += paged_diff(*sides, after, until, amount)
    assert rows == tree_model.diff(left_records, right_records)


@patient
@given(records(), st.integers(1, 40))
def test_parts_follow_one_another_and_are_about_equal(lake, content, parts):
    tree = lake.write(content)
    keys = spans(tree, parts)
    assert keys[0][0] == b""
    assert keys[-1][1] is None
    assert all(one[1] == following[0] for one, following in itertools.pairwise(keys))
    assert [after for after, _ in keys] == sorted(after for after, _ in keys)
    sizes = [
        sum(after < key and (until is None or key <= until) for key in content)
        for after, until in keys
    ]
    assert sum(sizes) == len(content) - (b"" in content)
    with pytest.raises(_kernel.KernelError, match=f"no part {parts} of {parts}"):
        tree.part(parts, parts)


def test_damaged_ends_of_tables_are_errors(lake):
    tree = lake.write({b"%04d" % number: (b"i" * 32, b"d" * 90) for number in range(3000)})
    content = (lake.folder / tree.ranges()[0].id).read_bytes()
    with pytest.raises(_kernel.CorruptTable, match="does not end as a table"):
        _kernel.table_index_start(content[:-1], len(content))
    with pytest.raises(_kernel.CorruptTable, match="longer than the file"):
        _kernel.table_index_start(content, len(content) - 1)
    with pytest.raises(_kernel.CorruptTable, match="checksum"):
        _kernel.table_index_start(content[:-600] + bytes(500) + content[-100:], len(content))
