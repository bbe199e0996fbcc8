"""Writes that wait for the disk together with a later one."""

from __future__ import annotations

import sqlite3

import pytest

from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.later_durability import durable_later
from anabranch.keyvalue.sqlite.store import SQLiteStore


@pytest.fixture
def store(tmp_path):
    store = SQLiteStore(tmp_path / "database")
    yield store
    store.close()


def test_what_is_durable_later_is_visible_at_once(store, tmp_path):
    with durable_later():
        assert store.apply([Write("p", b"a", b"1")], [Expect("p", b"a", None)])
        assert not store.apply([Write("p", b"a", b"2")], [Expect("p", b"a", None)])
    assert store.get("p", b"a") == b"1"
    with sqlite3.connect(tmp_path / "database") as other:
        assert other.execute("SELECT value FROM kv").fetchall() == [(b"1",)]


def test_only_the_writes_of_the_context_do_not_wait(store):
    connection = store._writer._open()
    with durable_later():
        store.apply([Write("p", b"a", b"1")])
    assert connection.pragma("synchronous") == 1
    store.apply([Write("p", b"b", b"1")])
    assert connection.pragma("synchronous") == 2
