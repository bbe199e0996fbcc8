"""Trees: opened, looked up, and kept open by their pool."""

from __future__ import annotations

import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import _kernel
from anabranch.testing.tree_strategies import CUTS, KEYS, keys, prefixes, records, value

from .conftest import EMPTY, Lake, patient, read


@patient
@given(records(), st.lists(keys))
def test_look_ups_are_those_of_a_dictionary(lake, committed, wanted):
    tree = lake.write(committed)
    assert len(tree) == len(committed)
    assert [tree.get(key) for key in KEYS] == [committed.get(key) for key in KEYS]
    assert tree.get_many(wanted) == [committed.get(key) for key in wanted]
    assert tree.get(b"") is None


def test_batches_of_look_ups_agree_with_a_dictionary(own_lake):
    """Many objects lie in a block, a batch touches some blocks many times and skips others."""
    names = [b"day=%03d/part-%07d" % (number // 480, number) for number in range(0, 60_000, 2)]
    committed = {name: value(name, 0) for name in names}
    tree = own_lake.write(committed)
    beside = [b"day=%03d/part-%07d" % (number // 480, number) for number in range(1, 60_000, 2)]
    some = random.Random(5).sample(names + beside, 3000)
    batches = [names[1000:3000], some, sorted(some), some[:17] * 3, [*beside[:40], b"", b"z"], []]
    for batch in batches:
        assert tree.get_many(batch) == [committed.get(name) for name in batch]
        assert [tree.get(name) for name in batch] == [committed.get(name) for name in batch]


@patient
@given(records(), st.one_of(prefixes, keys))
def test_prefixes_are_those_of_a_dictionary(lake, committed, prefix):
    expected = any(key.startswith(prefix) for key in committed)
    assert lake.write(committed).contains_prefix(prefix) == expected


def test_ranges_end_where_keys_say(lake):
    committed = {key: value(key, 0) for key in KEYS}
    tree = lake.write(committed)
    ranges = tree.ranges()
    assert [info.max_key for info in ranges] == [*CUTS, KEYS[-1]] == sorted([*CUTS, KEYS[-1]])
    assert sum(info.count for info in ranges) == len(tree) == len(KEYS)
    starts = [KEYS[KEYS.index(cut) + 1] for cut in CUTS]
    assert [info.min_key for info in ranges] == [KEYS[0], *starts]
    assert _kernel.write_metarange(ranges, str(lake.folder)) == tree.metarange_id


def test_the_empty_tree(lake):
    tree = lake.open(_kernel.EMPTY_TREE_ID)
    assert (len(tree), tree.ranges(), tree.metarange_id) == (0, [], "")
    assert (tree.get(b"k"), tree.get_many([b"k"]), tree.contains_prefix(b"")) == (
        None,
        [None],
        False,
    )
    written = _kernel.write_tree([], str(lake.folder))
    assert (written.metarange_id, written.tables, written.count) == (EMPTY, [EMPTY], 0)
    assert _kernel.write_metarange([], str(lake.folder)) == EMPTY
    tree = lake.open(EMPTY)
    assert (len(tree), tree.ranges(), tree.metarange_id) == (0, [], EMPTY)


def test_written_tables_are_reported(own_lake):
    committed = {key: value(key, 0) for key in KEYS}
    written = _kernel.write_tree(committed.items(), str(own_lake.folder))
    assert set(written.tables) == own_lake.names()
    assert written.tables[-1] == written.metarange_id
    assert (written.count, written.added) == (len(KEYS), len(KEYS))
    assert (written.changed, written.removed) == (0, 0)
    again = _kernel.write_tree(committed.items(), str(own_lake.folder))
    assert again.tables == written.tables, "what lay there already is there too"


def test_a_table_is_located_once_and_only_when_needed(own_lake):
    committed = {key: value(key, 0) for key in KEYS}
    metarange_id = own_lake.write(committed).metarange_id
    located = []

    def locate(table_id):
        located.append(table_id)
        return own_lake.locate(table_id)

    tables = _kernel.Tables()
    tree = tables.tree(metarange_id, locate)
    assert (located, tables.open_count()) == ([metarange_id], 1)
    assert tree.get(b"nothing here") is None
    assert located == [metarange_id, tree.ranges()[-1].id]
    for _ in range(2):
        assert read(tree) == committed
    assert len(located) == len(set(located)) == tables.open_count() == 18
    assert tables.tree(metarange_id, pytest.fail).get(KEYS[0]) is not None


def test_the_pool_closes_tables_and_forgets_them(own_lake):
    tree = Lake(own_lake.folder, capacity=3).write({key: value(key, 0) for key in KEYS})
    small = Lake(own_lake.folder, capacity=3)
    tree = small.open(tree.metarange_id)
    assert read(tree) == {key: value(key, 0) for key in KEYS}
    assert small.tables.open_count() == 3
    small.tables.forget(tree.ranges()[-1].id)
    assert small.tables.open_count() == 2
    small.tables.forget("no id at all")
    assert tree.get(KEYS[-1]) == value(KEYS[-1], 0)


def test_threads_read_while_the_pool_closes_tables(own_lake):
    committed = {key: value(key, 0) for key in KEYS}
    lake = Lake(own_lake.folder, capacity=2)
    tree = lake.write(committed)
    other = lake.apply(tree, [(b"a/1", value(b"a/1", 5))])
    wrong = []

    def work(seed):
        dice = random.Random(seed)
        for _ in range(60):
            key = dice.choice(KEYS)
            some = dice.sample(KEYS, 10)
            right = (
                tree.get(key) == committed[key]
                and tree.get_many(some) == [committed[name] for name in some]
                and [row[1] for row in tree.diff(other, amount=5).rows] == [b"a/1"]
                and lake.open(tree.metarange_id).contains_prefix(key)
            )
            if not right:
                wrong.append((seed, key))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert lake.tables.open_count() == 2
