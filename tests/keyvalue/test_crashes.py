"""What a crash of PostgreSQL leaves: the model of it is held to the real one."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest
from simulation.postgres import Database, open_store
from support.services.postgres import running_cluster

from anabranch.errors import Busy, OutcomeUnknown
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.store import PostgresStore

LOCK = b"\0\0\0\0\0\0\0\7"
TRY_LOCK = b"SELECT pg_try_advisory_lock($1::int8)"
WITHOUT_SYNC = (
    b"SELECT set_config('anabranch.holds', 'true', true), "
    b"set_config('synchronous_commit', 'off', true)"
)
INSERT = b"INSERT INTO kv SELECT $1::bytea, $2::bytea, $3::bytea WHERE true"


class Most:
    """Loses the most that a crash may lose."""

    def random(self):
        return 1.0

    def randrange(self, end):
        return end - 1


class Modelled:
    """The model."""

    def __init__(self):
        self.database = Database("off", Most())

    def open(self):
        return open_store(self.database)

    def crash(self):
        self.database.crash()


class Real:
    """PostgreSQL, whose process that writes the log later does not get to it."""

    def __init__(self, cluster):
        self.cluster = cluster
        name = cluster.make_database()
        self.url = cluster.url(name)
        PostgresDatabase(self.url).migrate()
        with cluster.connect() as raw:
            raw.execute(f"ALTER DATABASE {name} SET synchronous_commit = off".encode())
            query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
            os.kill(raw.execute(query).fetchone()[0], signal.SIGSTOP)

    def open(self):
        return PostgresStore(self.url)

    def crash(self):
        self.cluster.kill()
        self.cluster.start()


@pytest.fixture(scope="module")
def cluster():
    with running_cluster() as cluster:
        yield cluster


@pytest.fixture(params=["modelled", "real"])
def database(request):
    """A database whose owner has turned `synchronous_commit` off."""
    if request.param == "modelled":
        yield Modelled()
        return
    real = Real(request.getfixturevalue("cluster"))
    yield real
    real.crash()  # else the process that was stopped stays so


@pytest.fixture
def store(database):
    store = database.open()
    yield store
    store.close()


def run(store, *statements):
    """Runs statements on a connection of the store, and returns their results."""
    pool = store._executor._pool
    connection = pool.acquire()
    results = connection.run(*statements)
    pool.release(connection)
    return results


def value(database, key):
    """Returns a value as a new server finds it."""
    store = database.open()
    found = store.get("p", key)
    store.close()
    return found


def test_what_was_acknowledged_is_there_whatever_the_owner_has_set(database, store):
    assert store.apply([Write("p", b"a", b"1")])
    database.crash()
    assert value(database, b"a") == b"1"


def test_what_does_not_wait_for_the_disk_is_lost(database, store):
    assert store.apply([Write("p", b"a", b"1")])
    run(store, (WITHOUT_SYNC, ()), (INSERT, (b"p", b"b", b"1")))
    assert value(database, b"b") == b"1"
    database.crash()
    assert value(database, b"a") == b"1"
    assert value(database, b"b") is None


def test_it_is_there_with_what_was_made_after_it_and_waits(database, store):
    run(store, (WITHOUT_SYNC, ()), (INSERT, (b"p", b"b", b"1")))
    assert store.apply([Write("p", b"a", b"1")])
    database.crash()
    assert value(database, b"a") == b"1"
    assert value(database, b"b") == b"1"


def test_the_lock_of_a_session_ends_with_it(database, store):
    def is_locked(of):
        (result,) = run(of, (TRY_LOCK, (LOCK,)))
        return result.get_value(0, 0) == b"\1"

    assert is_locked(store)
    other = database.open()
    assert not is_locked(other)
    other.close()
    database.crash()
    other = database.open()
    assert is_locked(other)
    other.close()


def test_a_store_goes_on_after_a_crash(database, store):
    assert store.apply([Write("p", b"a", b"1")])
    database.crash()
    with suppress(OutcomeUnknown, Busy):  # or it has noticed that the connection is closed
        store.apply([Write("p", b"a", b"2")], [Expect("p", b"a", b"1")])
    now = store.get("p", b"a")
    assert now in (b"1", b"2")
    assert store.apply([Write("p", b"a", b"3")], [Expect("p", b"a", now)])
