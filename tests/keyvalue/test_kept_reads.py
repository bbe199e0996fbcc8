"""Reads that are kept while nobody writes: never older than the latest commit."""

from __future__ import annotations

import pytest

from anabranch.errors import Busy
from anabranch.keyvalue.change_counter import ChangeCounter
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.kept_reads import KeptReads
from anabranch.keyvalue.sqlite import SQLiteStore


class Database:
    """A dictionary that counts who reads it."""

    def __init__(self, path):
        self.changes = ChangeCounter(str(path))
        self.values = {("p", b"k"): b"one"}
        self.reads = 0
        self.kept = KeptReads(self.changes, self.read)

    def read(self, partition, key):
        self.reads += 1
        return self.values.get((partition, key))

    def set(self, value):
        self.changes.begin()
        self.values["p", b"k"] = value
        self.changes.end()


@pytest.fixture
def made(tmp_path):
    return Database(tmp_path / "db")


def test_a_value_is_read_once(made):
    assert [made.kept.get("p", b"k") for _ in range(3)] == [b"one"] * 3
    assert [made.kept.get("p", b"absent") for _ in range(3)] == [None] * 3
    assert made.reads == 2


def test_a_change_ends_all_that_was_kept(made, tmp_path):
    assert made.kept.get("p", b"k") == b"one"
    other = ChangeCounter(str(tmp_path / "db"))
    other.begin()
    made.values["p", b"k"] = b"two"
    other.end()
    assert made.kept.get("p", b"k") == b"two"
    assert made.kept.get("p", b"k") == b"two"
    assert made.reads == 2


def test_nothing_is_kept_while_something_is_committed(made):
    made.changes.begin()
    assert made.kept.get("p", b"k") == b"one"
    made.values["p", b"k"] = b"two"
    assert made.kept.get("p", b"k") == b"two"
    made.changes.end()
    assert made.kept.get("p", b"k") == b"two"
    assert made.reads == 3


def test_a_writer_that_died_in_between_only_costs_time(made):
    made.changes.begin()
    made.values["p", b"k"] = b"two"
    made.set(b"three")
    assert made.kept.get("p", b"k") == b"three"
    assert made.kept.get("p", b"k") == b"three"
    assert made.reads == 1


def test_what_was_read_while_something_was_committed_is_not_kept(made):
    def read(partition, key):
        old = made.values[partition, key]
        made.set(b"two")
        return old

    kept = KeptReads(made.changes, read)
    assert kept.get("p", b"k") == b"one", "it was the value when the read began"
    assert kept.get("p", b"k") == b"two"


def test_a_counter_that_was_removed_keeps_nothing_until_there_is_another(made, tmp_path):
    assert made.kept.get("p", b"k") == b"one"
    (tmp_path / "db-changes").unlink()
    other = ChangeCounter(str(tmp_path / "db"))
    other.begin()
    made.values["p", b"k"] = b"two"
    other.end()
    for reads in (2, 3):
        assert made.kept.get("p", b"k") == b"two"
        assert made.reads == reads
    made.set(b"three")
    assert [made.kept.get("p", b"k") for _ in range(3)] == [b"three"] * 3
    assert made.reads == 4


def test_memory_is_bounded(made):
    made.values["p", b"large"] = b"v" * 5000
    for number in range(20_000):
        made.kept.get("p", b"%d" % number)
    for _ in range(2):
        assert len(made.kept.get("p", b"large")) == 5000
    assert len(made.kept._kept.values) <= 8192
    assert made.reads == 20_002


def test_a_closed_store_gives_nothing_that_it_kept(database):
    store = SQLiteStore(database)
    store.apply([Write("p", b"k", b"v")])
    assert store.get("p", b"k") == b"v"
    store.close()
    with pytest.raises(Busy, match="closed"):
        store.get("p", b"k")
