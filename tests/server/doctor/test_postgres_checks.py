"""Checks of a misconfigured real PostgreSQL server."""

from __future__ import annotations

import os
import re
import time
from contextlib import ExitStack, contextmanager

import psycopg
import pytest
from support.eventually import eventually
from support.session.sizes import sized

from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.model.secret import Secret
from anabranch.server.config.field import build
from anabranch.server.doctor.check_result import State
from anabranch.server.doctor.postgres import check_postgres
from anabranch.testing.server import running_server


def check(url, *, max_connections=25, processes=1, clock=time.time):
    database = build(
        {
            "database.type": "postgres",
            "database.postgres.connection_string": Secret(url),
            "database.postgres.max_open_connections": max_connections,
        }
    ).database
    return check_postgres(database, processes, clock)


def fault(results):
    """Returns the state and message of the one result that is not sound."""
    (result,) = [result for result in results if result.state is not State.SOUND]
    assert result.hint
    assert "known-to-every-test" not in result.message
    return result.state, result.message


@contextmanager
def altered(cluster, setting, value):
    """Changes a setting of the whole PostgreSQL server temporarily."""
    with cluster.connect() as raw:
        try:
            raw.execute(f"ALTER SYSTEM SET {setting} = {value}".encode())
            raw.execute("SELECT pg_reload_conf()")
            await_setting(cluster, setting, value)
            yield
        finally:
            raw.execute(f"ALTER SYSTEM RESET {setting}".encode())
            raw.execute("SELECT pg_reload_conf()")
            await_setting(cluster, setting, "on")


def await_setting(cluster, setting, value):
    deadline = time.monotonic() + 60
    while True:
        with cluster.connect() as fresh:
            if fresh.execute("SELECT current_setting(%s)", (setting,)).fetchone() == (value,):
                return
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_migrated_database_is_sound_and_unchanged(postgres_database):
    results = check(postgres_database)
    assert {result.state for result in results} == {State.SOUND}
    assert {result.about for result in results} == {"database", "clock"}
    with psycopg.connect(postgres_database) as raw:
        assert raw.execute("SELECT count(*) FROM kv").fetchone() == (1,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda url: url.replace("known-to", "unknown-to"), "password authentication failed"),
        (lambda url: url.rsplit("/", 1)[0] + "/nowhere", 'database "nowhere" does not exist'),
        (lambda _: "postgres://postgres@127.0.0.1:1/postgres", "Connection refused"),
        (lambda _: "colour=blue", "not a connection string"),
        (lambda _: "", "needs database.postgres.connection_string"),
    ],
)
def test_a_database_that_cannot_be_connected_to_is_wrong(postgres_database, change, message):
    state, actual = fault(check(change(postgres_database)))
    assert state is State.WRONG
    assert message in actual


def test_a_database_without_tables_is_wrong(postgres_cluster):
    url = postgres_cluster.url(postgres_cluster.make_database())
    assert fault(check(url)) == (
        State.WRONG,
        "the database has not been migrated yet",
    )


def test_another_version_of_the_tables_is_wrong(postgres_database):
    with psycopg.connect(postgres_database) as raw:
        raw.execute("UPDATE kv SET value = '5'")
    state, message = fault(check(postgres_database))
    assert state is State.WRONG
    assert "schema version 5" in message


def test_a_user_without_write_permission_is_wrong(postgres_database):
    with psycopg.connect(postgres_database) as raw:
        raw.execute("CREATE ROLE reader LOGIN PASSWORD 'known-to-every-test'")
        raw.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    try:
        state, message = fault(check(postgres_database.replace("postgres:known", "reader:known")))
        assert state is State.WRONG
        assert "permission denied" in message
    finally:
        with psycopg.connect(postgres_database) as raw:
            raw.execute("DROP OWNED BY reader")
            raw.execute("DROP ROLE reader")


def test_a_read_only_database_is_wrong(postgres_cluster, postgres_database):
    name = postgres_database.rsplit("/", 1)[1]
    with postgres_cluster.connect() as raw:
        raw.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on".encode())
    state, message = fault(check(postgres_database))
    assert state is State.WRONG
    assert "read-only" in message


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_database_without_durability_is_wrong(postgres_cluster, postgres_database, setting):
    with altered(postgres_cluster, setting, "off"):
        assert fault(check(postgres_database)) == (
            State.WRONG,
            f"{setting} is off: a crash may lose or damage everything",
        )


def connections(results):
    """Returns the result about connections and its numbers: allowed, processes, wanted, others."""
    (result,) = [each for each in results if "connections" in each.message]
    numbers = re.fullmatch(
        r"PostgreSQL allows (\d+) connections; (\d+) processes on \d+ machines? may open (\d+), "
        r"other programs have (\d+)",
        result.message,
    )
    return result, *map(int, numbers.groups())


def test_more_connections_than_the_database_allows_are_doubtful(postgres_database):
    result, allowed, processes, wanted, _ = connections(check(postgres_database, processes=4))
    assert (result.state, allowed) == (State.DOUBTFUL, 97)
    assert (processes >= 4, wanted >= 100) == (True, True)
    assert result.hint


def test_connections_of_all_servers_are_connections(postgres_database):
    """Connections that tests before have closed may end while this one counts."""
    found = []

    def counted():
        found[:] = count_connections(postgres_database)
        return found[0] == found[1]

    eventually(counted)
    assert found[2] == found[3]


def count_connections(database):
    """Returns the counts with other connections, those that are expected, and the state with one
    more server, and the expected one.
    """
    _, _, processes, wanted, others = connections(check(database, max_connections=5))
    with ExitStack() as connected:

        def connect(name):
            connected.enter_context(psycopg.connect(database, application_name=name))

        for name in ("anabranch 30 7@elsewhere",) * 3 + ("anabranch 20 8@elsewhere", "psql"):
            connect(name)
        now = connections(check(database, max_connections=5))
        connect("anabranch 30 7@another")
        result, *_ = connections(check(database, max_connections=5))
    state = State.DOUBTFUL if wanted + others + 81 > 97 else State.SOUND
    return now[2:], (processes + 2, wanted + 50, others + 1), result.state, state


def connections_now(database, **given):
    """Returns what `connections` does of a check, once that of the check before has ended."""
    with psycopg.connect(database, autocommit=True) as raw:
        named = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE %s"
        own = [f"anabranch 1 {os.getpid()}@%"]
        eventually(lambda: raw.execute(named, own).fetchone() == (0,))
    return connections(check(database, **given))


def test_a_server_that_runs_here_is_counted_once(postgres_database, tmp_path):
    alone = {"max_connections": 1, "processes": 0}
    before = connections_now(postgres_database, **alone)
    processes = sized(1, weekly=2)
    wanted = 25 * processes
    with running_server(tmp_path, database=postgres_database, workers=processes):
        now = connections_now(postgres_database, **alone)
        assert (now[2] - before[2], now[3] - before[3]) == (processes, wanted)
        found = connections_now(postgres_database, processes=processes)
        assert found[3] == max(now[3], wanted)


def test_a_clock_that_is_off_is_wrong(postgres_database):
    state, message = fault(check(postgres_database, clock=lambda: time.time() + 600))
    assert state is State.WRONG
    assert "behind this machine's" in message


def test_a_migration_makes_a_database_sound(postgres_cluster):
    url = postgres_cluster.url(postgres_cluster.make_database())
    assert fault(check(url))[0] is State.WRONG
    PostgresDatabase(url).migrate()
    assert {finding.state for finding in check(url)} == {State.SOUND}
