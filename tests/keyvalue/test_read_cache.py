"""The read cache: it never returns values older than the latest commit."""

from __future__ import annotations

import pytest

from anabranch.keyvalue.caching.read_cache import ReadCache
from anabranch.keyvalue.caching.shared_version import SeqlockCounter
from anabranch.keyvalue.contract import Write


class Database:
    """A dictionary that counts its reads, as one process sees it."""

    def __init__(self, path):
        self.changes = SeqlockCounter(str(path))
        self.values = {("p", b"k"): b"one"}
        self.reads = 0
        self.cache = ReadCache(self.changes, self.read, self.read_page)

    def read(self, partition, key):
        self.reads += 1
        return self.values.get((partition, key))

    def read_page(self, partition, start, end, limit):
        self.reads += 1
        rows = sorted(self.values.items())
        return [
            (key, value)
            for (of, key), value in rows
            if of == partition and start <= key and (end is None or key < end)
        ][:limit]

    def set(self, value, key=b"k", written=None):
        """Writes a value as this process does; without `written`, the cache does not know where."""
        before = self.cache.begin_commit()
        self.values["p", key] = value
        self.cache.end_commit(before, None if written is None else self.writes(written))

    def writes(self, locations):
        return [Write(*location, self.values.get(location)) for location in locations]


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

    cache = ReadCache(stored.changes, read, stored.read_page)
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


def test_what_a_commit_has_written_takes_the_place_of_what_is_cached(stored):
    stored.values["p", b"other"] = b"same"
    for key in (b"k", b"other", b"absent", b"grown"):
        stored.cache.get("p", key)
    stored.set(b"two", written=[("p", b"k")])
    stored.set(b"now", b"absent", written=[("p", b"absent"), ("q", b"k")])
    stored.set(None, b"k", written=[("p", b"k")])
    stored.set(b"unread", b"new", written=[("p", b"new")])
    reads = stored.reads
    assert stored.cache.get("p", b"other") == b"same"
    assert stored.cache.get("p", b"k") is None
    assert stored.cache.get("p", b"absent") == b"now"
    assert stored.reads == reads
    assert stored.cache.get("p", b"new") == b"unread"
    assert stored.reads == reads + 1, "values that were never read are not cached"
    stored.set(b"v" * 5000, b"grown", written=[("p", b"grown")])
    assert len(stored.cache.get("p", b"grown")) == 5000
    assert ("p", b"grown") not in stored.cache._cached.values


def test_of_several_writes_of_a_commit_the_last_counts(stored):
    stored.cache.get("p", b"k")
    before = stored.cache.begin_commit()
    stored.values["p", b"k"] = b"last"
    stored.cache.end_commit(before, [Write("p", b"k", word) for word in (b"one", None, b"last")])
    assert stored.cache.get("p", b"k") == b"last"
    assert stored.reads == 1


def test_a_commit_that_does_not_know_its_writes_forgets_everything(stored):
    stored.cache.get("p", b"k")
    stored.set(b"two")
    assert stored.cache.get("p", b"k") == b"two"


def test_nothing_is_kept_past_the_commit_of_another_process(stored, tmp_path):
    """Also if one's own commit, which wrote something else, follows before anything is read."""
    assert stored.cache.get("p", b"k") == b"one"
    other = SeqlockCounter(str(tmp_path / "db"))
    other.begin()
    stored.values["p", b"k"] = b"two"
    other.end()
    stored.set(b"x", b"unrelated", written=[("p", b"unrelated")])
    assert stored.cache.get("p", b"k") == b"two"


def test_nothing_is_kept_past_a_writer_that_died(stored, tmp_path):
    """Its commit may have been made: the number that it left says so until the next commit."""
    assert stored.cache.get("p", b"k") == b"one"
    SeqlockCounter(str(tmp_path / "db")).begin()
    stored.values["p", b"k"] = b"two"
    stored.set(b"x", b"unrelated", written=[("p", b"unrelated")])
    assert stored.cache.get("p", b"k") == b"two"


def test_nothing_is_kept_past_a_commit_of_ones_own_that_failed(stored):
    assert stored.cache.get("p", b"k") == b"one"
    stored.cache.begin_commit()
    stored.values["p", b"k"] = b"two"  # the log has it, and is read again
    stored.set(b"x", b"unrelated", written=[("p", b"unrelated")])
    assert stored.cache.get("p", b"k") == b"two"


def test_a_value_read_before_a_commit_is_not_cached_after_it(stored):
    """A read that began before the commit of its key, and ends after it."""

    def read(partition, key):
        old = stored.values[partition, key]
        if old == b"one":
            before = cache.begin_commit()
            stored.values["p", b"k"] = b"two"
            cache.end_commit(before, stored.writes([("p", b"k")]))
        return old

    cache = ReadCache(stored.changes, read, stored.read_page)
    stored.values["p", b"other"] = b"same"
    assert cache.get("p", b"other") == b"same"  # so that there is something to keep
    assert cache.get("p", b"k") == b"one", "it was the value when the read began"
    assert cache.get("p", b"k") == b"two"


def test_a_value_read_while_the_commit_runs_is_forgotten_with_the_old_ones(stored):
    """A read that began before the commit of its key, and ends while that runs."""
    assert stored.cache.get("p", b"k") == b"one"
    counter, number = stored.changes.shared, stored.changes.shared.number[0]
    before = stored.cache.begin_commit()
    stored.cache._keep(counter, number, ("p", b"k"), b"one")
    stored.values["p", b"k"] = b"two"
    stored.cache.end_commit(before, stored.writes([("p", b"k")]))
    stored.cache._keep(counter, number, ("p", b"k"), b"one")
    assert stored.cache.get("p", b"k") == b"two"


def test_a_counter_that_was_replaced_keeps_nothing(stored, tmp_path):
    assert stored.cache.get("p", b"k") == b"one"
    (tmp_path / "db-changes").unlink()
    other = SeqlockCounter(str(tmp_path / "db"))
    other.begin()
    stored.values["p", b"k"] = b"two"
    other.end()
    stored.set(b"x", b"unrelated", written=[("p", b"unrelated")])
    assert stored.cache.get("p", b"k") == b"two"


def test_an_empty_range_is_read_once_until_a_key_in_it_is_written(stored):
    def rows(start, end=None):
        return list(stored.cache.page("p", start, end, 10))

    assert rows(b"l") == rows(b"l") == []
    assert rows(b"a", b"c") == rows(b"a", b"c") == []
    assert stored.reads == 2
    stored.set(b"outside", b"c", written=[("p", b"c")])
    stored.set(b"elsewhere", b"b", written=[("q", b"b")])
    del stored.values["p", b"b"]
    assert rows(b"a", b"c") == rows(b"l") == []
    assert stored.reads == 2, "neither range holds what was written"
    stored.set(b"first", b"a", written=[("p", b"a")])
    assert rows(b"a", b"c") == [(b"a", b"first")]
    assert rows(b"l") == []
    assert stored.reads == 3
    stored.set(b"last", b"z", written=[("p", b"y"), ("p", b"z")])
    assert rows(b"l") == [(b"z", b"last")]


def test_a_short_range_tells_what_is_in_each_range_within_it(stored):
    def rows(start, end=None, limit=10):
        return list(stored.cache.page("p", start, end, limit))

    for key in (b"m", b"n", b"o"):
        stored.set(key, key, written=[("p", key)])
    pairs = [(key, key) for key in (b"m", b"n", b"o")]
    assert rows(b"l") == pairs
    assert stored.reads == 1
    assert rows(b"l", limit=2) == pairs[:2]
    assert rows(b"m", b"o") == pairs[:2]
    assert rows(b"n") == pairs[1:]
    assert rows(b"n\0", b"o") == []
    assert stored.reads == 1
    assert rows(b"k") == [(b"k", b"one"), *pairs], "it begins before what is known"
    assert rows(b"k", b"l") == [(b"k", b"one")]
    assert stored.reads == 2
    stored.set(b"changed", b"n", written=[("p", b"n")])
    assert rows(b"l") == [pairs[0], (b"n", b"changed"), pairs[2]]


@pytest.mark.parametrize(("keys", "size", "limit"), [(9, 1, 20), (2, 600, 20), (3, 1, 3)])
def test_a_range_with_many_or_large_pairs_or_more_than_asked_for_is_read_again(
    stored, keys, size, limit
):
    for number in range(keys):
        key = b"m%d" % number
        stored.set(bytes(size), key, written=[("p", key)])
    for _ in range(2):
        assert len(stored.cache.page("p", b"l", None, limit)) == keys
    assert stored.reads == 2


def test_an_empty_range_is_forgotten_as_values_are(stored, tmp_path):
    def rows():
        return list(stored.cache.page("p", b"l", None, 1))

    other = SeqlockCounter(str(tmp_path / "db"))

    def commit_elsewhere(key):
        other.begin()
        stored.values["p", key] = b"new"
        other.end()

    assert rows() == []
    commit_elsewhere(b"m")
    assert rows() == [(b"m", b"new")]
    del stored.values["p", b"m"]
    other.begin()
    assert rows() == rows() == []
    stored.values["p", b"m"] = b"during a commit"
    assert rows() == [(b"m", b"during a commit")]
    other.end()
    del stored.values["p", b"m"]
    assert rows() == []
    stored.set(b"unknown", b"n")
    assert rows() == [(b"n", b"unknown")]


def test_a_range_found_empty_before_a_commit_is_not_known_after_it(stored):
    """A read that began before the commit of a key in it, and ends after it."""

    def read_page(*place):
        rows = stored.read_page(*place)
        if not rows:
            before = cache.begin_commit()
            stored.values["p", b"m"] = b"new"
            cache.end_commit(before, stored.writes([("p", b"m")]))
        return rows

    cache = ReadCache(stored.changes, stored.read, read_page)
    assert cache.get("p", b"k") == b"one"  # so that there is something to keep
    assert list(cache.page("p", b"l", None, 1)) == [], "it was so when the read began"
    assert list(cache.page("p", b"l", None, 1)) == [(b"m", b"new")]


@pytest.mark.slow
def test_number_of_empty_ranges_is_bounded(stored):
    for number in range(9_000):
        stored.cache.page(str(number), b"", None, 1)
        stored.cache.page("p", b"l%d" % number, b"m", 1)
    assert len(stored.cache._cached.ranges) <= 8192
    assert len(stored.cache._cached.ranges["p"]) <= 4


def test_a_version_lasts_until_any_process_commits(tmp_path):
    here, there = Database(tmp_path / "db"), Database(tmp_path / "db")
    for writer in (here, there):
        version = here.cache.version()
        assert version is not None
        assert here.cache.version() == version
        writer.set(b"two", written=[("p", b"k")])
        assert here.cache.version() not in {None, version}


def test_there_is_no_version_while_a_commit_runs_or_has_failed(stored):
    stored.cache.begin_commit()
    assert stored.cache.version() is None


def test_there_is_no_version_without_the_counter_that_others_see(stored, tmp_path):
    (tmp_path / "db-changes").unlink()
    assert stored.cache.version() is None


def test_a_closed_cache_has_no_version(stored):
    stored.cache.close()
    assert stored.cache.version() is None
