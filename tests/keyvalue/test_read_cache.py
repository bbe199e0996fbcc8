"""The read cache: it never returns values older than the latest commit."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.session.sizes import sized

from anabranch.errors import Busy
from anabranch.keyvalue.caching.read_cache import ReadCache
from anabranch.keyvalue.caching.shared_version import SeqlockCounter
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

COUNT_UP = """
import sys
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.sqlite.store import SQLiteStore

store = SQLiteStore(sys.argv[1])
for number in range(1, int(sys.argv[2]) + 1):
    for key in sys.argv[3:]:
        assert store.apply([Write("p", key.encode(), b"%d" % number)])
store.close()
"""


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
    assert stored.reads == reads + 1, "what nobody has read is not kept"
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


def test_number_of_empty_ranges_is_bounded(stored):
    for number in range(9_000):
        stored.cache.page(str(number), b"", None, 1)
        stored.cache.page("p", b"l%d" % number, b"m", 1)
    assert len(stored.cache._cached.empty) <= 8192
    assert len(stored.cache._cached.empty["p"]) <= 4


def test_scans_of_a_store_are_those_of_its_rows_while_it_is_written(database):
    """Random writes and removals in few partitions, beside scans of any range and limit."""
    chance = random.Random(3)
    store = SQLiteStore(database)
    rows: dict[tuple[str, bytes], bytes] = {}
    found_empty = 0
    for number in range(sized(600, weekly=6_000)):
        partition, key = chance.choice("pq"), b"%d" % chance.randrange(12)
        kind = chance.randrange(8)
        if kind == 0:
            store.drop(partition)
            rows = {place: value for place, value in rows.items() if place[0] != partition}
        elif kind < 3:
            value = None if chance.randrange(3) else b"%d" % number
            assert store.apply([Write(partition, key, value)])
            rows.pop((partition, key), None)
            if value is not None:
                rows[partition, key] = value
        else:
            end = chance.choice([None, b"%d" % chance.randrange(12)])
            limit = chance.choice([None, 0, 1, 2])
            expected = [
                (at, value)
                for (of, at), value in sorted(rows.items())
                if of == partition and at >= key and (end is None or at < end)
            ]
            found_empty += not expected
            assert list(store.scan(partition, key, end, limit=limit)) == expected[:limit]
    assert found_empty > 50
    store.close()


def test_reads_beside_writes_of_a_store_are_answered_from_the_cache(database):
    store = SQLiteStore(database)
    store.apply([Write("p", b"branch", b"main"), Write("p", b"moved", b"0")])
    store.get("p", b"branch")
    store.get("p", b"moved")
    read = store._cache._read
    keys = []
    store._cache._read = lambda partition, key: keys.append(key) or read(partition, key)
    for number in range(100):
        assert store.apply(
            [Write("p", b"moved", b"%d" % number)], [Expect("p", b"branch", b"main")]
        )
        assert store.get("p", b"moved") == b"%d" % number
        assert store.get("p", b"branch") == b"main"
    assert keys == []
    assert not store.apply([Write("p", b"moved", b"not made")], [Expect("p", b"branch", b"other")])
    assert store.get("p", b"moved") == b"99"
    assert keys == []
    store.drop("p")
    assert store.get("p", b"branch") is None
    assert store.get("p", b"moved") is None
    store.close()


def test_values_never_go_back_while_threads_and_processes_write(database):
    """Each key counts up: two threads of this process write half of the keys, another process the
    others, and no reader sees a number below one that it has seen or that was acknowledged.
    """
    store = SQLiteStore(database)
    keys, last = [b"%d" % number for number in range(8)], sized(25, weekly=60)
    assert store.apply([Write("p", key, b"0") for key in keys])
    acknowledged = dict.fromkeys(keys, 0)
    others = [key.decode() for key in keys[4:]]
    command = [sys.executable, "-c", COUNT_UP, str(database), str(last), *others]
    with subprocess.Popen(command) as other, ThreadPoolExecutor(5) as pool:

        def write(own):
            rounds = 0
            while other.poll() is None or rounds < last - 10:
                rounds += 1
                for key in own:
                    assert store.apply([Write("p", key, b"%d" % rounds)])
                    acknowledged[key] = rounds

        def read():
            seen = dict.fromkeys(keys, 0)
            while not all(writer.done() for writer in writers):
                for key in keys:
                    least = max(seen[key], acknowledged[key])
                    seen[key] = int(store.get("p", key))
                    assert seen[key] >= least

        writers = [pool.submit(write, keys[:2]), pool.submit(write, keys[2:4])]
        readers = [pool.submit(read) for _ in range(3)]
        for each in (*writers, *readers):
            each.result()
    assert other.returncode == 0
    assert store.get("p", keys[7]) == b"%d" % last
    store.close()


def test_closed_store_returns_no_cached_values(database):
    store = SQLiteStore(database)
    store.apply([Write("p", b"k", b"v")])
    assert store.get("p", b"k") == b"v"
    store.close()
    with pytest.raises(Busy, match="closed"):
        store.get("p", b"k")
