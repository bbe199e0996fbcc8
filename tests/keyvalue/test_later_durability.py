"""Writes that wait for the disk together with a later one."""

from __future__ import annotations

import sqlite3

import pytest
from simulation.postgres import Database, open_store
from support.services.postgres import running_cluster

from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.later_durability import durable_later
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.store import PostgresStore
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


def test_postgres_waits_for_the_disk_with_the_next_write(postgres_cluster, postgres, empty):
    with postgres_cluster.connect(empty.rsplit("/", 1)[1]) as other:

        def is_on_disk():
            row = other.execute("SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()")
            return row.fetchone()[0]

        with durable_later():
            assert postgres.apply([Write("p", b"a", b"1")], [Expect("p", b"a", None)])
            assert not postgres.apply([Write("p", b"a", b"2")], [Expect("p", b"a", None)])
            written = postgres.apply([Write("p", b"c", b"x" * 100_000)])
            before = is_on_disk()
        assert written
        assert postgres.get("p", b"a") == b"1"
        assert postgres.apply([Write("p", b"b", b"1")])
        assert not before
        assert is_on_disk()


def test_what_a_later_write_of_postgres_relies_on_survives_a_kill():
    with running_cluster() as cluster:
        url = cluster.url(cluster.make_database())
        PostgresDatabase(url).migrate()
        for number in range(3):
            store = PostgresStore(url)
            with durable_later():
                store.apply([Write("p", b"a-%d" % number, b"1")])
            store.apply([Write("p", b"b-%d" % number, b"1")])
            cluster.kill()
            store.close()
            cluster.start()
            store = PostgresStore(url)
            assert store.get_many("p", [b"a-%d" % number, b"b-%d" % number]) == [b"1"] * 2
            store.close()


def test_the_model_of_postgres_loses_what_no_later_write_relies_on():
    database = Database()
    store = open_store(database)
    store.apply([Write("p", b"a", b"1")])
    for relied_on in (False, True):
        with durable_later():
            store.apply([Write("p", b"a", b"2")])
        if relied_on:
            store.apply([Write("p", b"b", b"1")])
        else:
            assert not store.apply([Write("p", b"b", b"1")], [Expect("p", b"b", b"0")])
        database.crash()
        assert store.get("p", b"a") == (b"2" if relied_on else b"1")
