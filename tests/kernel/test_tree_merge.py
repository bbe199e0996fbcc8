"""Merges of trees: the ten rows of the table one by one, then against dictionaries."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch._kernel import KernelError, Tables
from anabranch.testing import tree_model
from anabranch.testing.tree_strategies import CUTS, KEYS, changes, records, value

from .conftest import patient, read

KEPT = b"a/first"
KEY = b"a/key"
ONE, TWO, THREE = (value(KEY, version) for version in (1, 2, 3))

ROWS = {
    # name: (base, destination, source, result); ... is a conflict
    "neither changed it": (ONE, ONE, ONE, ONE),
    "only the destination changed it": (ONE, TWO, ONE, TWO),
    "only the source changed it": (ONE, ONE, TWO, TWO),
    "both changed it alike": (ONE, TWO, TWO, TWO),
    "both changed it, differently": (ONE, TWO, THREE, ...),
    "one added it": (None, None, ONE, ONE),
    "both added it alike": (None, ONE, ONE, ONE),
    "both added it, differently": (None, ONE, TWO, ...),
    "one deleted it, the other left it": (ONE, ONE, None, None),
    "the destination deleted it, the source left it": (ONE, None, ONE, None),
    "both deleted it": (ONE, None, None, None),
    "the source deleted it, the destination changed it": (ONE, TWO, None, ...),
    "the destination deleted it, the source changed it": (ONE, None, TWO, ...),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("strategy", ["", "source-wins", "dest-wins"])
def test_rows(lake, row, strategy):
    *sides, result = row
    base, dest, source = (lake.write({KEPT: ONE} | ({KEY: side} if side else {})) for side in sides)
    merged = dest.merge(source, base, str(lake.folder), strategy=strategy)
    if result is ... and not strategy:
        assert (merged.written, merged.conflicts, merged.has_more) == (None, [KEY], False)
        return
    if result is ...:
        result = sides[2] if strategy == "source-wins" else sides[1]
    assert (merged.conflicts, merged.has_more) == ([], False)
    tree = lake.open(merged.written.metarange_id)
    assert read(tree) == {KEPT: ONE} | ({KEY: result} if result else {})


def identities(records):
    return {key: identity for key, (identity, _) in records.items()}


@patient
@given(
    records(),
    st.lists(changes(12), max_size=2),
    st.lists(changes(12), max_size=2),
    st.sampled_from(("", "source-wins", "dest-wins")),
    st.integers(0, 4),
)
def test_merges_are_those_of_dictionaries(lake, shared, ours, theirs, strategy, most):
    base, base_records = lake.commit(shared)
    dest, dest_records = lake.commit(shared, *ours)
    source, source_records = lake.commit(shared, *theirs)
    expected, conflicts = tree_model.merged(dest_records, source_records, base_records, strategy)
    merged = dest.merge(source, base, str(lake.folder), strategy=strategy, max_conflicts=most)
    assert merged.conflicts == conflicts[:most]
    assert merged.has_more == (len(conflicts) > most)
    if conflicts:
        assert dest.merge_counts(source, base)[3] == len(conflicts)
        assert merged.written is None
        return
    written = merged.written
    tree = lake.open(written.metarange_id)
    records_read = read(tree)
    assert identities(records_read) == identities(expected)
    for key, held in records_read.items():
        # of data under one identity either side's will do: whole ranges are taken
        assert held in (dest_records.get(key), source_records.get(key))
    rows = [row[0] for row in tree_model.diff(dest_records, expected)]
    counts = [rows.count(kind) for kind in ("added", "changed", "removed")]
    assert [written.added, written.changed, written.removed] == counts
    assert written.count == len(expected)
    there = {info.id for info in (*dest.ranges(), *source.ranges())}
    there |= {dest.metarange_id, source.metarange_id, ""}
    named = [*(info.id for info in tree.ranges()), tree.metarange_id]
    assert written.tables == [name for name in named if name not in there]


@patient
@given(records(), changes(), changes())
def test_a_merge_into_the_base_is_the_source(lake, shared, theirs, more):
    base, _ = lake.commit(shared)
    source, _ = lake.commit(shared, theirs, more)
    written = base.merge(source, base, str(lake.folder)).written
    same = base.diff(source, amount=1).rows == []
    assert written.metarange_id == (base if same else source).metarange_id
    assert written.tables == []


@patient
@given(records(), changes())
def test_a_merge_of_nothing_new_is_the_destination(lake, shared, ours):
    base, _ = lake.commit(shared)
    dest, _ = lake.commit(shared, ours)
    for source in (base, dest):
        written = dest.merge(source, base, str(lake.folder)).written
        assert (written.metarange_id, written.tables) == (dest.metarange_id, [])
        assert (written.added, written.changed, written.removed) == (0, 0, 0)


def all_conflict(lake):
    """Returns destination, source and base, which all have another value for each key."""
    return [lake.write({key: value(key, version) for key in KEYS}) for version in (1, 2, 0)]


def test_conflicts_leave_nothing_behind(own_lake):
    dest, source, base = all_conflict(own_lake)
    before = own_lake.names()
    for most in (0, 1, 5, len(KEYS) - 1, len(KEYS), len(KEYS) + 1, 2**64 - 1):
        merged = dest.merge(source, base, str(own_lake.folder), max_conflicts=most)
        assert merged.written is None
        assert merged.conflicts == list(KEYS[:most])
        assert merged.has_more == (most < len(KEYS))
    assert own_lake.names() == before


def test_a_refused_merge_does_not_read_what_follows_its_first_conflicts(own_lake):
    dest, source, base = all_conflict(own_lake)
    last = source.ranges()[-1]
    assert len(source.ranges()) > 10, "more than threads begin at once"
    (own_lake.folder / last.id).unlink()
    merged = dest.merge(source, base, str(own_lake.folder), max_conflicts=0)
    assert (merged.conflicts, merged.has_more) == ([], True)
    with pytest.raises(KernelError):
        dest.merge_counts(source, base)


def test_ranges_of_either_side_are_reused(own_lake):
    shared = {key: value(key, 0) for key in KEYS}
    base = own_lake.write(shared)
    dest = own_lake.apply(base, [(CUTS[2], value(CUTS[2], 1))])
    source = own_lake.apply(base, [(CUTS[9], value(CUTS[9], 1))])
    before = own_lake.names()
    written = dest.merge(source, base, str(own_lake.folder)).written
    assert written.tables == [written.metarange_id], "no range is written"
    assert own_lake.names() - before == {written.metarange_id}
    tree = own_lake.open(written.metarange_id)
    assert read(tree) == shared | {key: value(key, 1) for key in (CUTS[2], CUTS[9])}


def test_overlapping_ranges_of_both_sides_are_written_as_one(own_lake):
    """What lakeFS 1.84 makes of the same trees: its range around the source's is entered, too."""
    base = own_lake.open("")
    dest = own_lake.write({key: value(key, 1) for key in (b"a/1", CUTS[0], b"a/9")})
    source = own_lake.write({b"a/2": value(b"a/2", 1)})
    written = dest.merge(source, base, str(own_lake.folder)).written
    ranges = own_lake.open(written.metarange_id).ranges()
    assert [(info.min_key, info.max_key, info.count) for info in ranges] == [
        (b"a/1", CUTS[0], 3),
        (b"a/9", b"a/9", 1),
    ]


@patient
@given(records(), st.lists(changes(12), max_size=3), st.lists(changes(12), max_size=3))
def test_merges_do_not_fragment_ranges(lake, shared, ours, theirs):
    """A range that a merge writes holds no key behind which a range ends, but as its last; and it
    ends at one, unless the whole range that comes next is one of a side's, or none comes. So what
    is written has no boundary of its own, and there are at most as many ranges that end elsewhere
    as there are ranges of sides beside them.
    """
    base, _ = lake.commit(shared)
    dest, _ = lake.commit(shared, *ours)
    source, _ = lake.commit(shared, *theirs)
    merged = dest.merge(source, base, str(lake.folder), strategy="source-wins")
    kept = {info.id for info in (*dest.ranges(), *source.ranges())}
    tree = lake.open(merged.written.metarange_id)
    keys = sorted(read(tree))
    ranges = tree.ranges()
    for info, behind in itertools.zip_longest(ranges, ranges[1:]):
        if info.id in kept:
            continue
        inside = [key for key in keys if info.min_key <= key < info.max_key]
        assert not set(inside) & set(CUTS)
        assert info.max_key in CUTS or behind is None or behind.id in kept


@patient
@given(records(), changes(), changes())
def test_a_merge_that_takes_nothing_writes_the_same_ranges(lake, shared, ours, theirs):
    """Cherry-picking changes that the branch has already leaves its tree unchanged."""
    base = lake.write(shared)
    source = lake.write(tree_model.applied(shared, theirs))
    dest = lake.write(tree_model.applied(tree_model.applied(shared, ours), theirs))
    written = dest.merge(source, base, str(lake.folder), strategy="dest-wins").written
    if base.metarange_id != dest.metarange_id:
        assert written.metarange_id == dest.metarange_id


def test_an_unknown_strategy_is_refused(lake):
    empty = lake.open("")
    with pytest.raises(ValueError, match="ours"):
        empty.merge(empty, empty, str(lake.folder), strategy="ours")


def test_a_refused_merge_opens_few_tables(own_lake):
    trees = all_conflict(own_lake)
    opened: set[str] = set()

    def counted(table_id: str) -> str:
        opened.add(table_id)
        return own_lake.locate(table_id)

    def opened_by(call) -> int:
        tables = Tables(64)
        dest, source, base = (tables.tree(each.metarange_id, counted) for each in trees)
        opened.clear()
        call(dest, source, base)
        return len(opened)

    ranges = len(trees[0].ranges())
    assert ranges > 10, "more than threads begin at once"
    folder = str(own_lake.folder)
    refused = opened_by(lambda dest, *others: dest.merge(*others, folder, max_conflicts=0))
    assert refused <= 3 * 8, "of the pieces that up to eight threads have begun"
    first = opened_by(lambda dest, *others: dest.conflicts(*others, amount=1))
    assert first <= 3 * 2, "of the range with the page, and of the next one for whether more follow"
    assert opened_by(lambda dest, *others: dest.merge_counts(*others)) == 3 * ranges
