"""The PostgreSQL database: how it is connected to, what it must hold, and how that is made.

Its tables are lakeFS's, and so is the record of their version: key `kv/schema/version` of the
partition `kv-internal-metadata` holds 4. A server refuses any other version; only `migrate` makes
tables, so that two servers never do it by accident, nor one without the right to.
"""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from anabranch.errors import Busy, Invalid, NotSupported
from anabranch.keyvalue.postgres_connection import Backend, Connection
from anabranch.keyvalue.postgres_errors import (
    MIGRATE,
    UNDEFINED_TABLE,
    ConnectionLost,
    StatementFailed,
    translate,
)
from anabranch.keyvalue.postgres_layout import make_tables

__all__ = ["SCHEMA_VERSION", "PostgresDatabase"]

SCHEMA_VERSION = 4
"""The version of lakeFS's schema that this is; the only one that is served."""

_INTERNAL, _VERSION_KEY = b"kv-internal-metadata", b"kv/schema/version"

_CONNECT_SECONDS = 5
_GRACE_SECONDS = 2

_DEFAULTS = {
    "target_session_attrs": "read-write",
    "connect_timeout": str(_CONNECT_SECONDS),
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
_MIGRATION_TURN = b"SELECT pg_advisory_xact_lock(4711223355)"


class PostgresDatabase:
    """A database by its connection string, a URL or `name=value` pairs as libpq reads them.

    `patience_seconds` is how long one request may keep it busy; `name` is that of its connections,
    unless the connection string gives one. Raises Invalid for a connection string that is none.
    """

    def __init__(
        self, connection_string: str, patience_seconds: float = 20.0, name: str = "anabranch"
    ) -> None:
        self._patience = patience_seconds
        try:
            given = {k: str(v) for k, v in conninfo_to_dict(connection_string).items()}
        except psycopg.ProgrammingError as error:
            raise Invalid(
                "database.postgres.connection_string is no connection string of PostgreSQL's",
                kind="invalid_settings",
                hint="Write it like postgres://user:password@host:5432/database.",
            ) from error
        self._conninfo = make_conninfo(**{**_DEFAULTS, "application_name": name, **given})

    def connect(self) -> Connection:
        """Returns a new connection. Raises Busy when the database cannot be reached or does not
        let us in.
        """
        try:
            raw = psycopg.connect(self._conninfo, autocommit=True)
        except (psycopg.Error, OSError) as error:
            raise Busy(
                f"the database cannot be reached: {_reason(error)}", kind="database_unreachable"
            ) from error
        connection = Connection(raw, self._patience + _GRACE_SECONDS)
        try:
            milliseconds = b"%d" % (self._patience * 1000)
            answer = connection.run((_BEGIN_SESSION, (milliseconds,)))[0]
        except (ConnectionLost, StatementFailed) as error:
            connection.close()
            raise Busy(f"the database cannot be used: {error}", kind="database_unusable") from error
        connection.backend = Backend(answer.get_value(0, 0) or b"", answer.get_value(0, 1) or b"")
        return connection

    def version(self, connection: Connection) -> int | None:
        """Returns the version of the schema, or None where there is none yet."""
        try:
            answer = connection.run((_GET_VERSION, (_INTERNAL, _VERSION_KEY)))[0]
        except StatementFailed as error:
            if error.sqlstate == UNDEFINED_TABLE:
                return None
            raise
        value = answer.get_value(0, 0) if answer.ntuples else None
        return None if value is None else _number(value)

    def check(self, connection: Connection) -> None:
        """Raises NotSupported unless the database holds the schema that this version serves."""
        found = self.version(connection)
        if found is None:
            raise NotSupported(
                "the database holds no tables of Anabranch's yet", kind="not_migrated", hint=MIGRATE
            )
        _check_version(found)

    def migrate(self) -> int | None:
        """Makes whatever tables are missing and returns the version that the database had, or
        None if it was new. Does nothing to one that is up to date, however often it is called.
        """
        connection = self.connect()
        try:
            found = self.version(connection)
            if found is not None:
                _check_version(found)
                return found
            turn = (_MIGRATION_TURN, ())
            connection.run(turn, *((sql, ()) for sql in make_tables()))
            if self.version(connection) is None:  # another may have been there first
                values = (_INTERNAL, _VERSION_KEY, b"%d" % SCHEMA_VERSION)
                connection.run((_SET_VERSION + b" ON CONFLICT DO NOTHING", values))
        except StatementFailed as error:
            raise translate(error) from error
        except ConnectionLost as error:
            raise Busy(
                f"the connection to the database was lost: {error.reason}",
                hint="Run it again; it takes up where it ended.",
            ) from error
        finally:
            connection.close()
        return None


def _check_version(found: int) -> None:
    if found == SCHEMA_VERSION:
        return
    message = f"the database has schema version {found}, this Anabranch serves {SCHEMA_VERSION}"
    if found > SCHEMA_VERSION:
        hint = "Use the version of Anabranch that migrated it, or a later one."
        raise NotSupported(message, kind="newer_schema", hint=hint)
    hint = "Let lakeFS 1.84 migrate it first: `lakefs migrate up`."
    raise NotSupported(message, kind="older_schema", hint=hint)


def _number(value: bytes) -> int:
    try:
        return int(value)
    except ValueError:
        raise NotSupported(
            f"the database has schema version {value!r}, which is no number",
            kind="newer_schema",
            hint="Is this another program's table?",
        ) from None


def _reason(error: Exception) -> str:
    """Returns the words of an error on one line; libpq repeats them for each address."""
    return "; ".join(dict.fromkeys(" ".join(line.split()) for line in str(error).splitlines()))
