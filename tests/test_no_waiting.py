"""Work that must not wait for another machine is given up where it would."""

from __future__ import annotations

import threading

import pytest
from simulation.postgres import Database, open_store

from anabranch.keyvalue.contract import Write
from anabranch.no_waiting import WouldWait, about_to_wait, no_waiting


def test_only_the_context_and_its_thread_do_not_wait():
    elsewhere = threading.Thread(target=about_to_wait)
    with no_waiting():
        with pytest.raises(WouldWait):
            about_to_wait()
        elsewhere.start()
        elsewhere.join()
    about_to_wait()


def test_a_store_elsewhere_sends_nothing_then():
    sent = []
    store = open_store(Database(), lambda statements: sent.append(statements) or "made")
    store.apply([Write("p", b"a", b"1")])
    assert store.get_recent("p", b"a") == b"1"
    sent.clear()
    with no_waiting():
        assert store.get_recent("p", b"a") == b"1"
        for call in (
            lambda: store.get("p", b"a"),
            lambda: store.get_many("p", [b"a"]),
            lambda: list(store.scan("p")),
            lambda: store.snapshot("p", [(b"a", b"b")]),
            lambda: store.apply([Write("p", b"a", b"2")]),
            lambda: store.drop("p"),
        ):
            with pytest.raises(WouldWait):
                call()
    assert sent == []
    assert store.get("p", b"a") == b"1"
