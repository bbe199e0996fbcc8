"""Differences of two trees and comparisons of three, against dictionaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from anabranch.testing import tree_model
from anabranch.testing.tree_strategies import (
    CUTS,
    changes,
    delimiters,
    keys,
    prefixes,
    records,
    value,
)

from .conftest import patient


def paged(data, page):
    """Returns the rows of all pages, each of a size that Hypothesis draws."""
    rows = []
    after = data.draw(st.one_of(st.just(b""), keys, prefixes))
    start = after
    more = True
    while more:
        amount = data.draw(st.integers(1, 10))
        found = page(after=after, amount=amount)
        assert len(found.rows) <= amount
        rows += found.rows
        more = found.has_more
        if more:
            assert len(found.rows) == amount
            after = found.rows[-1][1]
    return start, rows


@patient
@given(st.data(), records(), changes(), changes(), prefixes, delimiters)
def test_differences_are_those_of_dictionaries(lake, data, shared, one, other, prefix, delimiter):
    left, left_records = lake.commit(shared, one)
    right, right_records = lake.commit(shared, other)
    after, rows = paged(
        data,
        lambda **page: left.diff(right, prefix=prefix, delimiter=delimiter, **page),
    )
    expected = tree_model.diff(left_records, right_records)
    assert rows == tree_model.rolled_up(expected, prefix, after, delimiter)


@patient
@given(st.data(), records(), changes(), changes(), prefixes, delimiters)
def test_comparisons_are_those_of_dictionaries(lake, data, shared, ours, theirs, prefix, delimiter):
    base, base_records = lake.commit(shared)
    dest, dest_records = lake.commit(shared, ours)
    source, source_records = lake.commit(shared, theirs)
    after, rows = paged(
        data,
        lambda **page: dest.compare(source, base, prefix=prefix, delimiter=delimiter, **page),
    )
    expected = tree_model.compare(dest_records, source_records, base_records)
    assert rows == tree_model.rolled_up(expected, prefix, after, delimiter)


@patient
@given(records(), changes())
def test_what_both_sides_changed_alike_is_no_difference(lake, shared, both):
    base, _ = lake.commit(shared)
    dest, _ = lake.commit(shared, both, [(b"a/0only here", value(b"", 7))])
    source, _ = lake.commit(shared, both)
    assert dest.compare(source, base, amount=10).rows == []
    assert source.diff(source, amount=10).rows == []


def test_the_identity_decides(lake):
    here, there = value(b"key", 1), value(b"key", 1, address=1)
    assert here != there
    left, right = (lake.write({b"key": each, CUTS[0]: each}) for each in (here, there))
    assert left.metarange_id != right.metarange_id
    assert left.diff(right, amount=10).rows == []


def test_all_kinds(lake):
    one, two, three = (value(b"k", version) for version in (1, 2, 3))
    base = lake.write({b"both": one, b"changed": one, b"d/1": one, b"gone": one})
    dest = lake.write({b"both": two, b"changed": one, b"d/1": one, b"gone": one, b"ours": one})
    source = lake.write({b"both": three, b"changed": two, b"d/1": two, b"d/2": one, b"new": one})
    compared = dest.compare(source, base, delimiter=b"/", amount=10)
    assert compared.rows == [
        ("conflict", b"both", two, three),
        ("changed", b"changed", one, two),
        ("prefix_changed", b"d/", None, None),
        ("removed", b"gone", one, None),
        ("added", b"new", None, one),
    ]
    assert not compared.has_more
    assert [row[1] for row in base.diff(dest, amount=1).rows] == [b"both"]
    assert base.diff(dest, amount=1).has_more
    assert base.diff(dest, amount=0).has_more
    assert not base.diff(base, amount=0).has_more


def test_ranges_that_are_equal_are_not_opened(own_lake):
    many = {key: value(key, 0) for key in CUTS}
    own_lake.write(many)
    changed = own_lake.write(many | {CUTS[5]: value(CUTS[5], 1)})
    opened = []

    def locate(table_id):
        opened.append(table_id)
        return own_lake.locate(table_id)

    fresh = type(own_lake.tables)()
    left = fresh.tree(own_lake.write(many).metarange_id, locate)
    right = fresh.tree(changed.metarange_id, locate)
    assert [row[:2] for row in left.diff(right, amount=10).rows] == [("changed", CUTS[5])]
    assert len(opened) == 4, "two metaranges and the two ranges that differ"
