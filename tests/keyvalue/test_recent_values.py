"""Values that may be a moment old: for how long, and how a removal outlasts them."""

from __future__ import annotations

import pytest

from anabranch.keyvalue import recent_values
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.recent_values import RECENT_SECONDS, RecentValues, outlast_recent

KEY = "repos", b"sea"


class Time:
    """Takes the place of the module, with a clock that goes only when something sleeps."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def time(monkeypatch):
    time = Time()
    monkeypatch.setattr(recent_values, "time", time)
    return time


@pytest.fixture
def store():
    store = MemoryStore()
    store.apply([Write(*KEY, b"1")])
    return store


def test_a_value_is_kept_for_a_moment_and_then_read_again(store, time):
    values = RecentValues(store.get)
    assert values.get(*KEY) == b"1"
    store.apply([Write(*KEY, b"2")])
    time.sleep(RECENT_SECONDS * 0.99)
    assert values.get(*KEY) == b"1"
    time.sleep(RECENT_SECONDS * 0.02)
    assert values.get(*KEY) == b"2"


def test_the_moment_begins_before_the_read(store, time):
    def slow(partition, key):
        value = store.get(partition, key)
        store.apply([Write(*KEY, None)])  # after it was read, before it has arrived
        time.sleep(RECENT_SECONDS)
        return value

    values = RecentValues(slow)
    assert values.get(*KEY) == b"1"
    assert values.get(*KEY) is None


@pytest.mark.usefixtures("time")
def test_an_absent_value_is_not_kept(store):
    values = RecentValues(store.get)
    assert values.get("repos", b"new") is None
    store.apply([Write("repos", b"new", b"1")])
    assert values.get("repos", b"new") == b"1"


def test_a_removed_value_is_used_by_nobody_once_the_removal_was_outlasted(store, time):
    every = [RecentValues(store.get) for _ in range(3)]
    for values in every:
        values.get(*KEY)
        time.sleep(RECENT_SECONDS / 10)
    assert store.apply([Write(*KEY, None)], [Expect(*KEY, b"1")])
    assert [values.get(*KEY) for values in every] == [b"1"] * 3
    outlast_recent()
    assert [values.get(*KEY) for values in every] == [None] * 3


@pytest.mark.usefixtures("time")
def test_what_is_kept_is_bounded():
    values = RecentValues(lambda _partition, key: key)
    for number in range(5_000):
        values.get("repos", b"%d" % number)
        assert len(values._known) <= 1_000
