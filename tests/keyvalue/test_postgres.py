"""The PostgreSQL database: its tables, versions, privileges and connections."""

from __future__ import annotations

import itertools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from anabranch.errors import Busy, Invalid, NotSupported
from anabranch.keyvalue.contract import Expect, Write
from anabranch.keyvalue.postgres import pool
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.store import PostgresStore

VERSION = (
    "UPDATE kv SET value = %b WHERE partition_key = 'kv-internal-metadata' "
    "AND key = 'kv/schema/version'"
)


@pytest.fixture
def new(postgres_cluster):
    """The name of a database with nothing in it."""
    return postgres_cluster.make_database()


def test_migrate_creates_lakefs_tables_and_version(postgres_cluster, new):
    database = PostgresDatabase(postgres_cluster.url(new))
    assert database.migrate() is None
    with postgres_cluster.connect(new) as raw:
        tables = {name for (name,) in raw.execute("SELECT relname FROM pg_class WHERE relkind='r'")}
        assert {f"kv_{number}" for number in range(100)} <= tables
        columns = raw.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_name = 'kv' ORDER BY ordinal_position"
        ).fetchall()
        assert columns == [("partition_key", "bytea"), ("key", "bytea"), ("value", "bytea")]
        rows = raw.execute("SELECT partition_key, key, value FROM kv").fetchall()
        assert rows == [(b"kv-internal-metadata", b"kv/schema/version", b"4")]
    assert database.migrate() == 4, "again changes nothing"


def test_migrate_completes_interrupted_migration(postgres_cluster, new):
    database = PostgresDatabase(postgres_cluster.url(new))
    database.migrate()
    with postgres_cluster.connect(new) as raw:
        raw.execute("DROP TABLE kv_17, kv_99")
        raw.execute("DELETE FROM kv")
    assert database.migrate() is None
    store = PostgresStore(postgres_cluster.url(new))
    assert store.apply([Write(f"partition {number}", b"k", b"") for number in range(300)])
    store.close()


def test_concurrent_migrations_create_one_schema(postgres_cluster, new):
    database = PostgresDatabase(postgres_cluster.url(new))
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(database.migrate) for _ in range(4)]
    assert {each.result() for each in found} <= {None, 4}
    PostgresStore(postgres_cluster.url(new)).close()


def test_unmigrated_database_is_rejected(postgres_cluster, new):
    with pytest.raises(NotSupported) as caught:
        PostgresStore(postgres_cluster.url(new))
    assert caught.value.kind == "not_migrated"
    assert "anabranch migrate" in caught.value.hint


@pytest.mark.parametrize(
    ("version", "kind"), [(b"5", "newer_schema"), (b"3", "older_schema"), (b"x", "newer_schema")]
)
@pytest.mark.sample(2)
def test_other_schema_versions_are_rejected_unchanged(postgres_cluster, new, version, kind):
    url = postgres_cluster.url(new)
    PostgresDatabase(url).migrate()
    with postgres_cluster.connect(new) as raw:
        raw.execute(VERSION, (version,))
    for act in (lambda: PostgresStore(url), PostgresDatabase(url).migrate):
        with pytest.raises(NotSupported) as caught:
            act()
        assert caught.value.kind == kind
        assert version.decode() in caught.value.message
    with postgres_cluster.connect(new) as raw:
        assert raw.execute("SELECT value FROM kv").fetchall() == [(version,)]


def test_keys_are_stored_in_correct_postgresql_partition(postgres_cluster, migrated, postgres):
    """What went to one of the hundred tables is found through the whole, by every partition."""
    names = [f"repo-{number}:ä" for number in range(500)]
    assert postgres.apply([Write(name, b"k", name.encode()) for name in names])
    with postgres_cluster.connect(migrated.rsplit("/", 1)[1]) as raw:
        for name in names:
            found = raw.execute(
                "SELECT value FROM kv WHERE partition_key = %b AND key = 'k'", (name.encode(),)
            )
            assert found.fetchone() == (name.encode(),)


def test_uneven_partitions_are_accessed_through_parent_table(postgres_cluster, new):
    with postgres_cluster.connect(new) as raw:
        raw.execute(
            "CREATE TABLE kv (partition_key bytea, key bytea, value bytea NOT NULL, "
            "PRIMARY KEY (partition_key, key)) PARTITION BY HASH (partition_key)"
        )
        for bound in ("2, REMAINDER 0", "4, REMAINDER 1", "4, REMAINDER 3"):
            name = f"part_{bound[0]}_{bound[-1]}"
            raw.execute(
                f"CREATE TABLE {name} PARTITION OF kv FOR VALUES WITH (MODULUS {bound})".encode()
            )
        raw.execute("INSERT INTO kv VALUES ('kv-internal-metadata', 'kv/schema/version', '4')")
    store = PostgresStore(postgres_cluster.url(new))
    names = [f"p{number}" for number in range(50)]
    assert store.apply([Write(name, b"k", b"1") for name in names])
    assert store.apply([Write("p1", b"k", b"2")], [Expect("p2", b"k", b"1")])
    assert [store.get(name, b"k") for name in names[:3]] == [b"1", b"2", b"1"]
    store.drop("p1")
    assert list(store.scan("p1")) == []
    store.close()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda url: url.replace("known-to", "unknown-to"), "password authentication failed"),
        (lambda url: url.rsplit("/", 1)[0] + "/nowhere", 'database "nowhere" does not exist'),
        (lambda url: url.replace("postgres:known", "nobody:known"), "authentication failed"),
        (lambda _: "postgres://postgres@127.0.0.1:1/postgres", "Connection refused"),
        (lambda _: "host=no-such-host.invalid", "no-such-host.invalid"),
    ],
)
def test_connection_failure_states_reason(migrated, wrong, words):
    with pytest.raises(Busy, match="cannot be reached") as caught:
        PostgresStore(wrong(migrated))
    assert words in caught.value.message
    assert "known-to-every-test" not in caught.value.message


@pytest.mark.parametrize("text", ["no such thing", "postgres://[", "colour=blue"])
def test_malformed_connection_string_is_invalid(text):
    with pytest.raises(Invalid) as caught:
        PostgresStore(text)
    assert caught.value.kind == "invalid_settings"


def test_missing_privileges_raise_not_supported_with_hint(postgres_cluster, migrated):
    name = migrated.rsplit("/", 1)[1]
    with postgres_cluster.connect(name) as raw:
        raw.execute("CREATE ROLE weak LOGIN PASSWORD 'known-to-every-test'")
    with pytest.raises(NotSupported) as caught:
        PostgresStore(migrated.replace("postgres:known", "weak:known"))
    assert "permission denied" in caught.value.message
    assert "privileges" in caught.value.hint


def test_too_long_key_is_invalid_and_changes_nothing(postgres):
    long = os.urandom(9_000)
    with pytest.raises(Invalid):
        postgres.apply([Write("p", b"a", b"1"), Write("p", long, b"2")])
    assert list(postgres.scan("p")) == []
    assert postgres.get("p", long) is None
    assert postgres.apply([Write("p", b"a", b"1")])


def test_open_connections_are_limited(postgres_cluster, empty):
    store = PostgresStore(
        f"{empty}?application_name=counted", max_open_connections=3, max_idle_connections=1
    )
    seen, done = [0], threading.Event()

    def work(number):
        for round_ in itertools.count():
            store.apply([Write("p", b"%d" % number, b"%d" % round_)])
            if done.is_set():
                return

    def look():
        """Looks until it has seen several connections, and then twenty times more."""
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counted'"
        deadline = time.monotonic() + 60
        try:
            with postgres_cluster.connect() as raw:
                while max(seen[:-20], default=0) < 2 and time.monotonic() < deadline:
                    seen.append(raw.execute(query).fetchone()[0])
        finally:
            done.set()

    looking = threading.Thread(target=look)
    looking.start()
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(work, range(12)))
    looking.join()
    assert 1 < max(seen) <= 3
    assert len(store._executor._pool._idle) == 1
    store.close()


def test_waiting_too_long_for_connection_raises_busy(empty):
    store = PostgresStore(empty, max_open_connections=2, timeout_seconds=1)
    held = [store._executor._pool.acquire() for _ in range(2)]
    start = time.monotonic()
    with pytest.raises(Busy) as caught:
        store.get("p", b"k")
    assert caught.value.kind == "connections_in_use"
    assert 0.9 < time.monotonic() - start < 60
    store._executor._pool.release(held.pop())
    assert store.get("p", b"k") is None
    store._executor._pool.release(held.pop())
    store.close()


def test_expired_connections_are_replaced(empty):
    store = PostgresStore(empty, connection_max_lifetime=3600)
    (first,) = store._executor._pool._idle
    store.get("p", b"k")
    assert store._executor._pool._idle == [first]
    first.opened_at -= 3600
    store.get("p", b"k")
    store.get("p", b"k")
    (second,) = store._executor._pool._idle
    assert second is not first
    store.close()


def test_closed_store_raises_busy(empty):
    store = PostgresStore(empty)
    store.close()
    for act in (lambda: store.get("p", b"k"), lambda: store.apply([Write("p", b"k", b"")])):
        with pytest.raises(Busy) as caught:
            act()
        assert caught.value.kind == "closed"
    store.close()


def test_forked_process_opens_its_own_connections(postgres):
    postgres.apply([Write("p", b"parent", b"1")])
    child = os.fork()
    if child == 0:
        try:
            ok = postgres.get("p", b"parent") == b"1"
            ok = ok and postgres.apply([Write("p", b"child", b"2")])
            os._exit(0 if ok else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert postgres.get("p", b"child") == b"2"


def test_prepared_statements_are_limited(postgres):
    names = [f"p{number}" for number in range(200)]
    for _ in range(2):
        for name in names:
            assert postgres.apply([Write(name, b"k", b"1")], [Expect(name, b"x", None)])
            assert postgres.get(name, b"k") == b"1"
            assert [key for key, _ in postgres.scan(name)] == [b"k"]
    (connection,) = postgres._executor._pool._idle
    assert len(connection._prepared) < 270


@pytest.mark.slow
def test_weaker_database_defaults_are_overridden(postgres_cluster, new):
    """Durable means durable, though the database's owner has turned that off for speed."""
    url = postgres_cluster.url(new)
    PostgresDatabase(url).migrate()
    with postgres_cluster.connect() as raw:
        for setting in ("synchronous_commit = off", "default_transaction_isolation = serializable"):
            raw.execute(f"ALTER DATABASE {new} SET {setting}".encode())
    store = PostgresStore(url)
    connection = store._executor._pool.acquire()
    for setting, wanted in (
        (b"synchronous_commit", b"on"),
        (b"default_transaction_isolation", b"read committed"),
    ):
        (answer,) = connection.run((b"SELECT current_setting($1)", (setting,)))
        assert answer.get_value(0, 0) == wanted
    store._executor._pool.release(connection)
    store.close()


@pytest.fixture
def limited_role(postgres_cluster, empty):
    """The connection string of a role that may have three connections."""
    with postgres_cluster.connect(conninfo_to_dict(empty)["dbname"]) as admin:
        admin.execute("CREATE ROLE limited LOGIN PASSWORD 'limited' CONNECTION LIMIT 3")
        admin.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO limited")
    yield make_conninfo(empty, user="limited", password="limited")
    with postgres_cluster.connect(conninfo_to_dict(empty)["dbname"]) as admin:
        admin.execute("DROP OWNED BY limited")
        admin.execute("DROP ROLE limited")


def test_requests_wait_for_open_connections_if_the_database_takes_no_further(limited_role):
    store = PostgresStore(limited_role, max_open_connections=20)

    def work(number):
        for round_ in range(10):
            assert store.apply([Write("p", b"%d" % number, b"%d" % round_)])

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(work, range(16)))
    assert [value for _, value in store.scan("p")] == [b"9"] * 16
    store.close()


def test_a_request_waits_while_others_get_the_connections_before_it(limited_role, monkeypatch):
    monkeypatch.setattr(pool, "_REFUSED_SECONDS", 1)
    store = PostgresStore(limited_role, max_open_connections=20)
    connections = store._executor._pool
    held = [connections.acquire() for _ in range(3)]
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(store.apply, [Write("p", b"k", b"v")])
        for _ in range(15):
            time.sleep(0.1)
            connections.release(held.pop())
            held.append(connections.acquire())  # mostly before the one that waits
        connections.release(held.pop())
        assert waiting.result()
    for connection in held:
        connections.release(connection)
    assert store.get("p", b"k") == b"v"
    store.close()


def test_a_database_that_takes_no_connection_at_all_fails_requests_at_once(limited_role):
    first = PostgresStore(limited_role, max_open_connections=3)
    held = [first._executor._pool.acquire() for _ in range(3)]
    with pytest.raises(Busy) as caught:
        PostgresStore(limited_role)
    assert caught.value.kind == "database_unreachable"
    assert "too many connections" in caught.value.message
    for connection in held:
        first._executor._pool.release(connection)
    first.close()
