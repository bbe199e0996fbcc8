"""Snapshots of a lakeFS database that is written meanwhile."""

from __future__ import annotations

import psycopg
import pytest
from support.eventually import eventually
from support.services.postgres import PASSWORD

from anabranch.errors import Busy, Invalid, NotSupported
from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.snapshot import Snapshot
from anabranch.keyvalue.postgres.store import PostgresStore


@pytest.fixture
def filled(postgres: PostgresStore, empty: str) -> str:
    """The connection string of a database with 3,000 keys, and one of a partition not in UTF-8."""
    postgres.apply([Write("p", b"%04d" % number, b"v%d" % number) for number in range(3000)])
    with psycopg.connect(empty, autocommit=True) as connection:
        row = (b"other-\xff", b"\x00\xff", b"")
        connection.execute("INSERT INTO kv VALUES (%b, %b, %b)", row)
    return empty


def test_snapshot_reads_keys_as_the_store_does(filled, postgres):
    with Snapshot(filled) as snapshot:
        assert snapshot.get("p", b"0007") == b"v7"
        assert snapshot.get("p", b"7") is None
        for bounds in ((b"", None), (b"0100", None), (b"0100", b"2900"), (b"9", None)):
            assert list(snapshot.scan("p", *bounds)) == list(postgres.scan("p", *bounds))
        assert len(list(snapshot.scan("p", limit=70))) == 70
        assert dict(snapshot.partitions()) == {
            b"kv-internal-metadata": 1,
            b"other-\xff": 1,
            b"p": 3000,
        }
        assert list(snapshot.scan("other-\udcff")) == [(b"\x00\xff", b"")]


def test_snapshot_does_not_change_when_others_write(filled, postgres):
    with Snapshot(filled) as snapshot:
        begun = snapshot.scan("p")
        assert next(begun) == (b"0000", b"v0")
        postgres.drop("p")
        postgres.apply([Write("p", b"new", b"")])
        assert len(list(begun)) == 2999
        assert snapshot.get("p", b"new") is None
    assert postgres.get("p", b"new") == b""


def test_account_with_select_alone_may_read(filled, postgres_cluster):
    name = filled.rsplit("/", 1)[1]
    with postgres_cluster.connect(name) as connection:
        connection.execute(
            f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; GRANT SELECT ON kv TO reader".encode()
        )
        connection.execute(f"CREATE ROLE stranger LOGIN PASSWORD '{PASSWORD}'".encode())
    try:
        with Snapshot(filled.replace("postgres:known", "reader:known")) as snapshot:
            assert snapshot.get("p", b"0007") == b"v7"
            # PostgreSQL takes a moment to notice that a connection was closed
            eventually(lambda: snapshot.active_clients() == [])
            with psycopg.connect(filled, application_name="hidden"):
                assert snapshot.active_clients() == ["hidden"]
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                snapshot._connection.execute("DELETE FROM kv")
        with pytest.raises(NotSupported, match="may not be read") as caught:
            Snapshot(filled.replace("postgres:known", "stranger:known"))
        assert caught.value.kind == "privilege_missing"
    finally:
        with postgres_cluster.connect(name) as connection:
            connection.execute("DROP OWNED BY reader; DROP ROLE reader; DROP ROLE stranger")


@pytest.mark.parametrize(
    ("version", "hint"),
    [(b"3", "lakefs migrate up"), (b"5", "later version"), (None, "migrate up")],
)
def test_other_schema_version_is_rejected(empty, postgres_cluster, version, hint):
    where = b"partition_key = 'kv-internal-metadata'"
    with postgres_cluster.connect(empty.rsplit("/", 1)[1]) as connection:
        if version is None:
            connection.execute(b"DELETE FROM kv WHERE " + where)
        else:
            connection.execute(b"UPDATE kv SET value = %b WHERE " + where, (version,))
        try:
            with pytest.raises(NotSupported, match="version 4, of lakeFS") as caught:
                Snapshot(empty)
        finally:
            connection.execute(
                "INSERT INTO kv VALUES ('kv-internal-metadata', 'kv/schema/version', '4') "
                "ON CONFLICT (partition_key, key) DO UPDATE SET value = '4'"
            )
    assert caught.value.kind == "unknown_schema"
    assert hint in caught.value.hint


def test_database_of_another_program_is_rejected(postgres_cluster):
    with pytest.raises(NotSupported, match="no table kv") as caught:
        Snapshot(postgres_cluster.url(postgres_cluster.make_database()))
    assert caught.value.kind == "not_lakefs"


def test_bad_connection_strings_are_rejected(empty):
    with pytest.raises(Invalid, match="not a connection string"):
        Snapshot("postgres://a b")
    with pytest.raises(Busy, match=r"cannot be read: .*password"):
        Snapshot(empty.replace(PASSWORD, "wrong"))


def test_lost_connection_raises_busy(filled, postgres_cluster):
    with Snapshot(filled) as snapshot:
        with postgres_cluster.connect() as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'anabranch migrate'"
            )
        with pytest.raises(Busy, match="cannot be read"):
            snapshot.get("p", b"0007")


def test_snapshot_recognizes_its_own_database(migrated, empty, postgres_cluster):
    other = postgres_cluster.url(postgres_cluster.make_database())
    PostgresDatabase(other).migrate()
    with Snapshot(empty) as snapshot:
        for url, same in (
            (migrated, True),
            (other, False),
            (migrated + "?connect_timeout=9", True),
        ):
            connection = PostgresDatabase(url).connect()
            try:
                assert snapshot.is_database_of(connection) is same
                assert snapshot.is_database_of(connection) is same, "it leaves no lock"
            finally:
                connection.close()


def test_clients_other_than_anabranch_are_named(empty, postgres):
    with Snapshot(empty) as snapshot:
        postgres.get("p", b"")
        named = postgres_names(empty)
        eventually(lambda: snapshot.active_clients() == [])
    with psycopg.connect(empty, application_name="lakefs-like"), Snapshot(empty) as snapshot:
        (client,) = snapshot.active_clients()
        assert client.startswith("lakefs-like at 127.0.0.1")
    assert any(name.startswith("anabranch ") for name in named)


def postgres_names(url: str) -> list[str]:
    with psycopg.connect(url, application_name="anabranch test") as connection:
        rows = connection.execute(
            "SELECT application_name FROM pg_stat_activity WHERE datname = current_database()"
        )
        return [row[0] for row in rows]
