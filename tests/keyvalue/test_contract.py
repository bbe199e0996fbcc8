"""The contract suite: tests that every key-value store must pass."""

from __future__ import annotations

import itertools
import threading
from random import Random

import pytest
from support.session.sizes import sized

from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

KEYS = [
    b"",
    b"\0",
    b"\0\0",
    b"a",
    b"a\0",
    b"a/b",
    b"a0",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff\xff",
    "ключ".encode(),
    b"k" * 1_024,
    b"k" * 1_025,
    b"k" * 1_025 + b"\0",
    b"\xff" * 70_000,
]


def fill(store: KeyValueStore, partition: str, keys: list[bytes]) -> None:
    assert store.apply([Write(partition, key, b"=" + key) for key in keys])


def test_get_of_absent_key_returns_none(store):
    assert store.get("p", b"k") is None
    assert store.get_many("p", [b"k", b""]) == [None, None]
    assert list(store.scan("p")) == []


@pytest.mark.wiring
def test_values_are_stored_unchanged(store):
    values = [b"", b"\0", bytes(range(256)), b"v" * 300_000]
    for value in values:
        assert store.apply([Write("p", b"k", value)])
        assert store.get("p", b"k") == value


def test_empty_value_differs_from_absent_key(store):
    store.apply([Write("p", b"k", b"")])
    assert store.get("p", b"k") == b""
    assert not store.apply([Write("p", b"x", b"")], [Expect("p", b"k", None)])
    assert store.apply([Write("p", b"x", b"")], [Expect("p", b"k", b"")])


def test_keys_are_arbitrary_bytes(store):
    fill(store, "p", KEYS)
    assert [store.get("p", key) for key in KEYS] == [b"=" + key for key in KEYS]


def test_get_many_returns_values_in_order_of_keys(store):
    fill(store, "p", [b"a", b"b"])
    assert store.get_many("p", [b"b", b"x", b"a", b"b"]) == [b"=b", None, b"=a", b"=b"]
    assert store.get_many("p", []) == []


def test_scan_is_ordered_by_bytes(store):
    fill(store, "p", KEYS[::-1])
    assert [key for key, _ in store.scan("p")] == sorted(KEYS)


def test_scan_respects_bounds(store):
    keys = KEYS[:-1]
    fill(store, "p", keys)
    starts = [b"", b"a", b"a/", b"\xff\xff\xff\xff"]
    ends = [None, b"", b"a", b"a0", b"\xff", b"\xff\xff\xff"]
    for start, end, limit in itertools.product(starts, ends, [None, 0, 1, 3, 100]):
        expected = [key for key in sorted(keys) if key >= start and (end is None or key < end)]
        scanned = [key for key, _ in store.scan("p", start, end, limit=limit)]
        assert scanned == expected[:limit], (start, end, limit)


def test_scan_continues_across_pages(store):
    keys = [b"%06d" % number for number in range(2_500)]
    fill(store, "p", keys)
    assert list(store.scan("p")) == [(key, b"=" + key) for key in keys]
    assert len(list(store.scan("p", limit=2_001))) == 2_001
    assert len(list(store.scan("p", b"000100", b"002400"))) == 2_300


def test_scan_yields_undisturbed_keys_once_during_writes(store):
    stays = [b"%06d" % number for number in range(0, 3_000, 2)]
    goes = [b"%06d" % number for number in range(1, 3_000, 2)]
    fill(store, "p", stays + goes)
    seen = []
    for number, (key, _) in enumerate(store.scan("p")):
        seen.append(key)
        if number % 100 == 0:
            gone, came = goes.pop(), b"%06d+" % number
            store.apply([Write("p", gone, None), Write("p", came, b"")])
    assert seen == sorted(set(seen))
    assert set(stays) <= set(seen)


def test_snapshot_respects_bounds(store):
    keys = KEYS[:-1]
    fill(store, "p", keys)
    fill(store, "q", keys)
    ranges = [(b"a", b"a0"), (b"", b"a"), (b"", b"a/b"), (b"x", b"x"), (b"\x80", b"\xff\xff")]
    found = store.snapshot("p", ranges)
    for (start, end), rows in zip(ranges, found, strict=True):
        assert rows == [(key, b"=" + key) for key in sorted(keys) if start <= key < end]
    assert store.snapshot("p", []) == []
    assert store.snapshot("absent", [(b"", b"\xff")]) == [[]]


def test_snapshot_is_of_one_moment(store):
    """A key that moves between two ranges is in exactly one of them."""
    size = 1_500
    fill(store, "p", [b"a%06d" % number for number in range(size)])
    stop = threading.Event()

    def move():
        """Moves every key to the other range and back, one at a time."""
        for turn in itertools.count():
            source, target = (b"a", b"b") if turn % 2 == 0 else (b"b", b"a")
            for number in range(0, size, 7):
                if stop.is_set():
                    return
                key = b"%06d" % number
                store.apply([Write("p", source + key, None), Write("p", target + key, b"")])

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for _ in range(30):
            first, second = store.snapshot("p", [(b"a", b"b"), (b"b", b"c")])
            names = [key[1:] for key, _ in first + second]
            assert len(names) == len(set(names)) == size
    finally:
        stop.set()
        mover.join()


def test_partitions_are_separate(store):
    for partition in ("a", "ab", "", "ä", "a/b"):
        store.apply([Write(partition, b"k", partition.encode())])
    assert list(store.scan("a")) == [(b"k", b"a")]
    assert store.get("", b"k") == b""
    assert store.get("ä", b"k") == "ä".encode()
    assert store.get("b", b"k") is None


def test_apply_is_atomic(store):
    store.apply([Write("p", b"a", b"1")])
    wrong = [Expect("p", b"a", b"2"), Expect("p", b"a", None), Expect("q", b"a", b"1")]
    for expectation in wrong:
        assert not store.apply(
            [Write("p", b"a", None), Write("q", b"b", b"")],
            [Expect("p", b"a", b"1"), expectation],
        )
    assert store.get("p", b"a") == b"1"
    assert store.get("q", b"b") is None
    assert store.apply(
        [Write("p", b"a", None), Write("q", b"b", b"")],
        [Expect("p", b"a", b"1"), Expect("q", b"b", None)],
    )
    assert store.get("p", b"a") is None
    assert store.get("q", b"b") == b""


def test_expectations_are_checked_before_writes(store):
    assert store.apply([Write("p", b"a", b"1")], [Expect("p", b"a", None)])
    assert store.apply([Write("p", b"a", b"2")], [Expect("p", b"a", b"1")])


def test_later_of_two_writes_of_one_key_wins(store):
    store.apply([Write("p", b"a", b"1"), Write("p", b"a", b"2")])
    assert store.get("p", b"a") == b"2"
    store.apply([Write("p", b"a", b"3"), Write("p", b"a", None)])
    assert store.get("p", b"a") is None


@pytest.mark.parametrize("count", [31, 32, 33, 100, 1000])
def test_large_apply_makes_its_writes_in_order(store, count):
    random = Random(count)
    store.apply([Write("p", b"%d" % number, b"old") for number in range(20)])
    expected = {b"%d" % number: b"old" for number in range(20)}
    writes = []
    for number in range(count):
        # in the first half keys are only set, so that whole statements have many rows
        remove = number > count // 2 and random.random() < 0.1
        writes.append(Write("p", b"%d" % random.randrange(40), None if remove else b"%d" % number))
    store.apply(writes)
    for _, key, value in writes:
        expected.pop(key, None)
        if value is not None:
            expected[key] = value
    assert dict(store.scan("p")) == expected


def test_apply_without_writes_checks_expectations(store):
    assert store.apply([])
    assert store.apply([], [Expect("p", b"a", None)])
    assert not store.apply([], [Expect("p", b"a", b"")])


def test_removing_absent_key_does_nothing(store):
    assert store.apply([Write("p", b"a", None)])
    assert list(store.scan("p")) == []


def test_drop_removes_one_partition(store):
    fill(store, "p", [b"%05d" % number for number in range(3_210)])
    fill(store, "pq", [b"a"])
    store.drop("p")
    store.drop("never there")
    assert list(store.scan("p")) == []
    assert store.get("pq", b"a") == b"=a"
    fill(store, "p", [b"again"])
    assert store.get("p", b"again") == b"=again"


def test_concurrent_compare_and_set_loses_no_update(store):
    workers, rounds = 8, 40
    lost = [0] * workers

    def count(worker: int) -> None:
        for _ in range(rounds):
            while True:
                held = store.get("p", b"counter")
                new = b"%d" % (int(held or 0) + 1)
                if store.apply([Write("p", b"counter", new)], [Expect("p", b"counter", held)]):
                    break
                lost[worker] += 1

    threads = [threading.Thread(target=count, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get("p", b"counter") == b"%d" % (workers * rounds)


def test_readers_never_see_partial_applies(store):
    store.apply([Write("p", b"a", b"0"), Write("p", b"b", b"0")])
    done = threading.Event()
    torn = []

    def read() -> None:
        while not done.is_set():
            a, b = store.get_many("p", [b"a", b"b"])
            if a != b:
                torn.append((a, b))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(sized(100, weekly=300)):
        value = b"%d" % number
        store.apply([Write("p", b"a", value), Write("p", b"b", value)])
        assert store.get("p", b"b") == value
    done.set()
    reader.join()
    assert torn == []
