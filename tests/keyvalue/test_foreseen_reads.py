"""What is foreseen is asked for in one go, and never old."""

from __future__ import annotations

import threading

import pytest

from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.foreseen_reads import ForeseenReads


class Counted:
    """A store, and how often it was asked."""

    def __init__(self, store):
        self.store = store
        self.asked = []

    def __getattr__(self, name):
        found = getattr(self.store, name)

        def ask(*given):
            self.asked.append(name)
            return found(*given)

        return ask

    def since(self):
        asked, self.asked = self.asked, []
        return asked


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
    return ForeseenReads(counted)


def follow(store, path, topic="main"):
    """Reads as a request does: each place stands where the one before says."""
    with store.foreseen(topic, path):
        partition = store.get("repos", b"sea").decode()
        token = store.get(partition, b"main").decode()
        return store.get(token, path)


def test_the_second_request_of_a_topic_asks_once(store, counted):
    assert follow(store, b"a") == b"A"
    assert counted.since() == ["get"] * 3
    for path, value in ((b"a", b"A"), (b"b", b"B"), (b"c", None), (b"a", b"A")):
        assert follow(store, path) == value
        assert counted.since() == ["get_together"]
    assert follow(store, b"b", topic="another") == b"B"
    assert counted.since() == ["get"] * 3


def test_what_was_changed_since_is_seen(store, counted):
    follow(store, b"a")
    counted.store.apply([Write("stage-1", b"a", b"changed")])
    assert follow(store, b"a") == b"changed"
    counted.store.apply([Write("stage-1", b"a", None)])
    assert follow(store, b"a") is None


def test_what_lies_elsewhere_now_is_found_there_and_foreseen_from_then_on(store, counted):
    follow(store, b"a")
    counted.store.apply([Write("sea-1", b"main", b"stage-2")])
    counted.since()
    assert follow(store, b"a") == b"new A"
    assert counted.since() == ["get_together", "get"]
    assert follow(store, b"a") == b"new A"
    assert counted.since() == ["get_together"]


def test_who_reads_again_reads_anew(store, counted):
    follow(store, b"a")
    with store.foreseen("main", b"a"):
        assert store.get("repos", b"sea") == b"sea-1"
        counted.store.apply([Write("repos", b"sea", b"sea-2")])
        assert store.get("repos", b"sea") == b"sea-2"


def test_who_writes_sees_what_was_written(store):
    follow(store, b"a")
    with store.foreseen("main", b"a"):
        assert store.apply([Write("stage-1", b"a", b"mine")], [Expect("stage-1", b"a", b"A")])
        assert store.get("stage-1", b"a") == b"mine"


def test_outside_of_a_request_nothing_is_foreseen(store, counted):
    follow(store, b"a")
    follow(store, b"a")
    counted.since()
    assert store.get("repos", b"sea") == b"sea-1"
    assert counted.since() == ["get"]


def test_a_request_that_fails_leaves_nothing_to_the_next(store, counted):
    follow(store, b"a")
    with pytest.raises(ZeroDivisionError), store.foreseen("main", b"a"):
        raise ZeroDivisionError
    counted.store.apply([Write("repos", b"sea", b"sea-2")])
    assert store.get("repos", b"sea") == b"sea-2"


def test_a_path_that_is_another_places_key_is_no_harm(store):
    for path in (b"sea", b"main", b"a", b"sea", b"a"):
        assert follow(store, path) == {b"a": b"A"}.get(path)


def test_threads_do_not_see_each_others(store):
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
