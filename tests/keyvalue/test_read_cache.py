"""The read cache: it never returns values older than the latest commit."""

from __future__ import annotations

import pytest

from anabranch.errors import Busy
from anabranch.keyvalue.caching.read_cache import ReadCache
from anabranch.keyvalue.caching.shared_version import SeqlockCounter
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore


class Database:
    """A dictionary that counts its reads."""

    def __init__(self, path):
        self.changes = SeqlockCounter(str(path))
        self.values = {("p", b"k"): b"one"}
        self.reads = 0
        self.cache = ReadCache(self.changes, self.read)

    def read(self, partition, key):
        self.reads += 1
        return self.values.get((partition, key))

    def set(self, value):
        self.changes.begin()
        self.values["p", b"k"] = value
        self.changes.end()


@pytest.fixture
def stored(tmp_path):
    return Database(tmp_path / "db")


def test_unchanged_values_are_read_once(stored):
    assert [stored.cache.get("p", b"k") for _ in range(3)] == [b"one"] * 3
    assert [stored.cache.get("p", b"absent") for _ in range(3)] == [None] * 3
    assert stored.reads == 2


def test_change_by_another_process_invalidates_cache(stored, tmp_path):
    assert stored.cache.get("p", b"k") == b"one"
    other = SeqlockCounter(str(tmp_path / "db"))
    other.begin()
    stored.values["p", b"k"] = b"two"
    other.end()
    assert stored.cache.get("p", b"k") == b"two"
    assert stored.cache.get("p", b"k") == b"two"
    assert stored.reads == 2


def test_values_read_during_commit_are_not_cached(stored):
    stored.changes.begin()
    assert stored.cache.get("p", b"k") == b"one"
    stored.values["p", b"k"] = b"two"
    assert stored.cache.get("p", b"k") == b"two"
    stored.changes.end()
    assert stored.cache.get("p", b"k") == b"two"
    assert stored.reads == 3


def test_counter_left_odd_by_dead_writer_only_disables_cache(stored):
    stored.changes.begin()
    stored.values["p", b"k"] = b"two"
    stored.set(b"three")
    assert stored.cache.get("p", b"k") == b"three"
    assert stored.cache.get("p", b"k") == b"three"
    assert stored.reads == 1


def test_value_changed_while_it_is_read_is_not_cached(stored):
    def read(partition, key):
        old = stored.values[partition, key]
        stored.set(b"two")
        return old

    cache = ReadCache(stored.changes, read)
    assert cache.get("p", b"k") == b"one", "it was the value when the read began"
    assert cache.get("p", b"k") == b"two"


def test_removed_counter_disables_cache_until_next_commit(stored, tmp_path):
    assert stored.cache.get("p", b"k") == b"one"
    (tmp_path / "db-changes").unlink()
    other = SeqlockCounter(str(tmp_path / "db"))
    other.begin()
    stored.values["p", b"k"] = b"two"
    other.end()
    for reads in (2, 3):
        assert stored.cache.get("p", b"k") == b"two"
        assert stored.reads == reads
    stored.set(b"three")
    assert [stored.cache.get("p", b"k") for _ in range(3)] == [b"three"] * 3
    assert stored.reads == 4


def test_cache_size_is_bounded(stored):
    stored.values["p", b"large"] = b"v" * 5000
    for number in range(20_000):
        stored.cache.get("p", b"%d" % number)
    for _ in range(2):
        assert len(stored.cache.get("p", b"large")) == 5000
    assert len(stored.cache._cached.values) <= 8192
    assert stored.reads == 20_002


def test_closed_store_returns_no_cached_values(database):
    store = SQLiteStore(database)
    store.apply([Write("p", b"k", b"v")])
    assert store.get("p", b"k") == b"v"
    store.close()
    with pytest.raises(Busy, match="closed"):
        store.get("p", b"k")
