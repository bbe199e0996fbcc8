"""A store over SQLite with its cache, beside threads and processes that write."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.session.sizes import sized

from anabranch.errors import Busy
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
