"""Prefetched reads take one round trip and are never stale."""

from __future__ import annotations

import threading

import pytest

from anabranch.keyvalue.caching.prefetch import PrefetchedReads
from anabranch.keyvalue.contract import Expect, Write


class Counted:
    """A store that records the calls made to it."""

    def __init__(self, store):
        self.store = store
        self.calls = []

    def __getattr__(self, name):
        method = getattr(self.store, name)

        def record(*args):
            self.calls.append(name)
            return method(*args)

        return record

    def since(self):
        calls, self.calls = self.calls, []
        return calls


@pytest.fixture
def counted(postgres):
    postgres.apply(
        [
            Write("repos", b"sea", b"sea-1"),
            Write("sea-1", b"main", b"stage-1"),
            Write("stage-1", b"a", b"A"),
            Write("stage-1", b"b", b"B"),
            Write("stage-2", b"a", b"new A"),
        ]
    )
    return Counted(postgres)


@pytest.fixture
def store(counted):
    return PrefetchedReads(counted)


def follow(store, path, pattern_key="main"):
    """Reads as a request does: each value names the location of the next."""
    with store.prefetch(pattern_key, path):
        partition = store.get("repos", b"sea").decode()
        token = store.get(partition, b"main").decode()
        return store.get(token, path)


def test_second_request_of_pattern_key_reads_once(store, counted):
    assert follow(store, b"a") == b"A"
    assert counted.since() == ["get"] * 3
    for path, value in ((b"a", b"A"), (b"b", b"B"), (b"c", None), (b"a", b"A")):
        assert follow(store, path) == value
        assert counted.since() == ["get_across_partitions"]
    assert follow(store, b"b", pattern_key="another") == b"B"
    assert counted.since() == ["get"] * 3


def test_values_changed_between_requests_are_seen(store, counted):
    follow(store, b"a")
    counted.store.apply([Write("stage-1", b"a", b"changed")])
    assert follow(store, b"a") == b"changed"
    counted.store.apply([Write("stage-1", b"a", None)])
    assert follow(store, b"a") is None


def test_moved_location_is_read_then_prefetched(store, counted):
    follow(store, b"a")
    counted.store.apply([Write("sea-1", b"main", b"stage-2")])
    counted.since()
    assert follow(store, b"a") == b"new A"
    assert counted.since() == ["get_across_partitions", "get"]
    assert follow(store, b"a") == b"new A"
    assert counted.since() == ["get_across_partitions"]


def test_second_read_of_key_is_not_served_from_prefetch(store, counted):
    follow(store, b"a")
    with store.prefetch("main", b"a"):
        assert store.get("repos", b"sea") == b"sea-1"
        counted.store.apply([Write("repos", b"sea", b"sea-2")])
        assert store.get("repos", b"sea") == b"sea-2"


def test_request_sees_its_own_writes(store):
    follow(store, b"a")
    with store.prefetch("main", b"a"):
        assert store.apply([Write("stage-1", b"a", b"mine")], [Expect("stage-1", b"a", b"A")])
        assert store.get("stage-1", b"a") == b"mine"


def test_reads_outside_context_are_not_prefetched(store, counted):
    follow(store, b"a")
    follow(store, b"a")
    counted.since()
    assert store.get("repos", b"sea") == b"sea-1"
    assert counted.since() == ["get"]


def test_failed_request_leaves_no_prefetched_values(store, counted):
    follow(store, b"a")
    with pytest.raises(ZeroDivisionError), store.prefetch("main", b"a"):
        raise ZeroDivisionError
    counted.store.apply([Write("repos", b"sea", b"sea-2")])
    assert store.get("repos", b"sea") == b"sea-2"


def test_path_equal_to_another_key_is_read_correctly(store):
    for path in (b"sea", b"main", b"a", b"sea", b"a"):
        assert follow(store, path) == {b"a": b"A"}.get(path)


def test_prefetched_values_are_separate_by_thread(store):
    follow(store, b"a")
    wrong = []

    def read(path, value):
        wrong.extend(path for _ in range(100) if follow(store, path) != value)

    threads = [
        threading.Thread(target=read, args=given)
        for given in ((b"a", b"A"), (b"b", b"B"), (b"c", None))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
