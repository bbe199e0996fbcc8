"""The PostgreSQL database: connecting to it, checking its schema and migrating it.

Its tables are lakeFS's, and so is the record of their version: key `kv/schema/version` of the
partition `kv-internal-metadata` holds 4. A server rejects any other version; only `migrate` creates
tables, so that a server never does so by accident or without the privileges.
"""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from anabranch.errors import Busy, Invalid, NotSupported
from anabranch.keyvalue.postgres.connection import Backend, Connection
from anabranch.keyvalue.postgres.errors import (
    MIGRATE,
    UNDEFINED_TABLE,
    ConnectionLost,
    StatementFailed,
    translate,
)
from anabranch.keyvalue.postgres.partitions import make_tables

__all__ = ["SCHEMA_VERSION", "PostgresDatabase", "parse_version"]

SCHEMA_VERSION = 4
"""The version of lakeFS's schema that this package implements; the only one that is served."""

_INTERNAL, _VERSION_KEY = b"kv-internal-metadata", b"kv/schema/version"

_CONNECT_TIMEOUT_SECONDS = 5
_GRACE_SECONDS = 2

_DEFAULTS = {
    "target_session_attrs": "read-write",
    "connect_timeout": str(_CONNECT_TIMEOUT_SECONDS),
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
_BEGIN_SESSION = b"""
SELECT pid, backend_start,
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit')
        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
    set_config('statement_timeout', $1, false),
    set_config('lock_timeout', $1, false),
    set_config('tcp_keepalives_idle', '10', false),
    set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false),
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('enable_seqscan', 'off', false),
    set_config('enable_bitmapscan', 'off', false),
    set_config('jit', 'off', false)
FROM pg_stat_activity WHERE pid = pg_backend_pid()
"""
_GET_VERSION = b"SELECT value FROM kv WHERE partition_key = $1 AND key = $2"
_SET_VERSION = b"INSERT INTO kv VALUES ($1, $2, $3)"
_MIGRATION_LOCK = b"SELECT pg_advisory_xact_lock(4711223355)"


class PostgresDatabase:
    """A database by its connection string, a URL or `name=value` pairs as libpq reads them.

    `timeout_seconds` limits each statement; `name` is the name of its connections, unless the
    connection string gives one. Raises Invalid for a malformed connection string.
    """

    def __init__(
        self, connection_string: str, timeout_seconds: float = 20.0, name: str = "anabranch"
    ) -> None:
        self._timeout = timeout_seconds
        try:
            params = {k: str(v) for k, v in conninfo_to_dict(connection_string).items()}
        except psycopg.ProgrammingError as error:
            raise Invalid(
                "database.postgres.connection_string is not a connection string of PostgreSQL",
                kind="invalid_settings",
                hint="Write it like postgres://user:password@host:5432/database.",
            ) from error
        self._conninfo = make_conninfo(**{**_DEFAULTS, "application_name": name, **params})

    def connect(self) -> Connection:
        """Returns a new connection. Raises Busy when the database cannot be reached or rejects the
        connection.
        """
        connection = self._open()
        try:
            milliseconds = b"%d" % (self._timeout * 1000)
            result = connection.run((_BEGIN_SESSION, (milliseconds,)))[0]
        except (ConnectionLost, StatementFailed) as error:
            connection.close()
            raise Busy(f"the database cannot be used: {error}", kind="database_unusable") from error
        connection.backend = Backend(result.get_value(0, 0) or b"", result.get_value(0, 1) or b"")
        return connection

    def _open(self) -> Connection:
        try:
            raw = psycopg.connect(self._conninfo, autocommit=True)
        except (psycopg.Error, OSError) as error:
            raise Busy(
                f"the database cannot be reached: {_reason(error)}", kind="database_unreachable"
            ) from error
        return Connection(raw, self._timeout + _GRACE_SECONDS)

    def version(self, connection: Connection) -> int | None:
        """Returns the version of the schema, or None for a database without a schema."""
        try:
            result = connection.run((_GET_VERSION, (_INTERNAL, _VERSION_KEY)))[0]
        except StatementFailed as error:
            if error.sqlstate == UNDEFINED_TABLE:
                return None
            raise
        value = result.get_value(0, 0) if result.ntuples else None
        return None if value is None else parse_version(value)

    def check(self, connection: Connection) -> None:
        """Raises NotSupported unless the database holds the schema that this version serves."""
        version = self.version(connection)
        if version is None:
            raise NotSupported(
                "the database has not been migrated yet", kind="not_migrated", hint=MIGRATE
            )
        _check_version(version)

    def migrate(self) -> int | None:
        """Creates the missing tables and returns the version that the database had, or None if it
        was new. Changes nothing if the schema is up to date.
        """
        connection = self.connect()
        try:
            version = self.version(connection)
            if version is not None:
                _check_version(version)
                return version
            lock = (_MIGRATION_LOCK, ())
            connection.run(lock, *((sql, ()) for sql in make_tables()))
            if self.version(connection) is None:  # another process may have been first
                values = (_INTERNAL, _VERSION_KEY, b"%d" % SCHEMA_VERSION)
                connection.run((_SET_VERSION + b" ON CONFLICT DO NOTHING", values))
        except StatementFailed as error:
            raise translate(error) from error
        except ConnectionLost as error:
            raise Busy(
                f"the connection to the database was lost: {error.reason}",
                hint="Run it again; it continues where it stopped.",
            ) from error
        finally:
            connection.close()
        return None


def _check_version(version: int) -> None:
    if version == SCHEMA_VERSION:
        return
    message = (
        f"the database has schema version {version}, "
        f"this version of Anabranch serves {SCHEMA_VERSION}"
    )
    if version > SCHEMA_VERSION:
        hint = "Use the version of Anabranch that migrated it, or a later one."
        raise NotSupported(message, kind="newer_schema", hint=hint)
    hint = "Migrate it with lakeFS 1.84 first: `lakefs migrate up`."
    raise NotSupported(message, kind="older_schema", hint=hint)


def parse_version(value: bytes) -> int:
    """Returns the version of a schema, given its record. Raises NotSupported."""
    try:
        return int(value)
    except ValueError:
        raise NotSupported(
            f"the database has schema version {value!r}, which is not a number",
            kind="newer_schema",
            hint="The table may belong to another program: check the connection string.",
        ) from None


def _reason(error: Exception) -> str:
    """Returns an error's message on one line; libpq repeats the message for each address."""
    return "; ".join(dict.fromkeys(" ".join(line.split()) for line in str(error).splitlines()))
