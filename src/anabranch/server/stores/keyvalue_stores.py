"""Opens the key-value store that the settings name, and migrates it for `anabranch migrate`.

PostgreSQL's client is imported only if it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

from anabranch.errors import Invalid
from anabranch.files.private_folders import make_private_folder
from anabranch.keyvalue.contract import KeyValueStore, StoreSnapshot
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.sqlite.snapshot import SQLiteSnapshot
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.library import DATABASE_FILE
from anabranch.server.config.settings import Database
from anabranch.store_observer import UNOBSERVED, StoreObserver

__all__ = [
    "Migrated",
    "connection_string",
    "is_on_this_machine",
    "migrate_keyvalue",
    "open_keyvalue",
    "open_snapshot",
    "require_postgres_client",
]


class Migrated(NamedTuple):
    """The result of a migration: the version of the schema before, None for a new database, and
    after; both are None if the store has no schema.
    """

    before: int | None
    now: int | None


def is_on_this_machine(database: Database) -> bool:
    """Returns whether the store is on this machine: lookups then take microseconds."""
    return database.type != "postgres"


def open_keyvalue(database: Database, observer: StoreObserver = UNOBSERVED) -> KeyValueStore:
    """Opens the store; `observer` learns of requests to another machine. Raises Invalid for invalid
    settings, and the errors of the store.
    """
    if database.type == "mem":
        return MemoryStore()
    if database.type == "local":
        folder = database.local.path
        make_private_folder(folder)
        return SQLiteStore(folder / DATABASE_FILE)
    url = connection_string(database)
    from anabranch.keyvalue.caching.prefetch import PrefetchedReads  # noqa: PLC0415  an extra
    from anabranch.keyvalue.postgres.store import PostgresStore  # noqa: PLC0415

    return PrefetchedReads(
        PostgresStore(
            url,
            max_open_connections=database.postgres.max_open_connections,
            max_idle_connections=database.postgres.max_idle_connections,
            connection_max_lifetime=database.postgres.connection_max_lifetime,
            observer=observer,
        )
    )


@contextmanager
def open_snapshot(database: Database) -> Iterator[StoreSnapshot]:
    """Yields all keys as they are at this moment. Raises Invalid for a store in memory and for
    invalid settings, and the errors of the store.
    """
    if database.type == "mem":
        raise Invalid("stores in memory cannot be read by another process", kind="invalid_settings")
    if database.type == "local":
        with closing(SQLiteSnapshot(database.local.path / DATABASE_FILE)) as snapshot:
            yield snapshot
        return
    url = connection_string(database)
    from anabranch.keyvalue.postgres.snapshot import Snapshot  # noqa: PLC0415  an extra

    with Snapshot(url) as remote:
        yield remote


def migrate_keyvalue(database: Database) -> Migrated:
    """Creates or migrates the tables of the store. Raises the errors of `open_keyvalue`."""
    if is_on_this_machine(database):
        return Migrated(None, None)
    url = connection_string(database)
    from anabranch.keyvalue.postgres.database import SCHEMA_VERSION, PostgresDatabase  # noqa: PLC0415  an extra

    return Migrated(PostgresDatabase(url).migrate(), SCHEMA_VERSION)


def connection_string(database: Database) -> str:
    """Returns the connection string of PostgreSQL. Raises Invalid if it is not set, or if the
    client is not installed.
    """
    url = database.postgres.connection_string.reveal()
    if not url:
        raise Invalid(
            "database.type is postgres, which also needs database.postgres.connection_string",
            kind="invalid_settings",
            hint="Write it like postgres://user:password@host:5432/database.",
        )
    if database.postgres.max_open_connections < 1:
        raise Invalid(
            "database.postgres.max_open_connections must be at least 1", kind="invalid_settings"
        )
    require_postgres_client()
    return url


def require_postgres_client() -> None:
    """Raises Invalid unless PostgreSQL's client is installed."""
    try:
        import psycopg  # noqa: F401, PLC0415  an extra
    except ImportError as error:
        raise Invalid(
            f"PostgreSQL's client cannot be used: {error}",
            kind="extra_missing",
            hint="pip install 'anabranch[postgres]'",
        ) from error
