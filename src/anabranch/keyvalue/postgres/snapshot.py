"""A read-only view of a database in lakeFS's layout, at one moment.

Everything is read in one transaction of isolation level REPEATABLE READ, so that it is of one
moment, however long reading takes and whatever others write meanwhile. PostgreSQL itself rejects
writes in it (READ ONLY), so the database may also be a standby or be read with an account that has
no more than SELECT.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from functools import partial
from types import TracebackType
from typing import Any, Self, cast

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from anabranch.errors import AnabranchError, Busy, Invalid, NotSupported
from anabranch.keyvalue.contract import PartitionSize
from anabranch.keyvalue.postgres.connection import Connection
from anabranch.keyvalue.postgres.database import SCHEMA_VERSION, parse_version
from anabranch.keyvalue.scan_pages import scan_in_pages

__all__ = ["Snapshot", "encode_partition"]

_DEFAULTS = {"connect_timeout": "5", "application_name": "anabranch migrate"}
_SETTINGS = """
SELECT set_config('statement_timeout', '0', true),
    set_config('idle_in_transaction_session_timeout', '0', true),
    set_config('enable_seqscan', 'off', true)
"""
_VERSION = (
    "SELECT value FROM kv WHERE partition_key = 'kv-internal-metadata' "
    "AND key = 'kv/schema/version'"
)
_GET = "SELECT value FROM kv WHERE partition_key = %b AND key = %b"
_PAGE = "SELECT key, value FROM kv WHERE partition_key = %b AND key >= %b ORDER BY key LIMIT %s"
_PAGE_TO = (
    "SELECT key, value FROM kv WHERE partition_key = %b AND key >= %b AND key < %b "
    "ORDER BY key LIMIT %s"
)
_PARTITIONS = "SELECT partition_key, count(*) FROM kv GROUP BY partition_key ORDER BY partition_key"
_OTHERS = """
SELECT coalesce(nullif(application_name, ''), 'an unnamed program')
    || coalesce(' at ' || host(client_addr), '')
    || coalesce(to_char(max(state_change) AT TIME ZONE 'UTC', '", active at "HH24:MI:SS" UTC"'), '')
FROM pg_stat_activity
WHERE datname = current_database() AND coalesce(backend_type, 'client backend') = 'client backend'
    AND pid <> pg_backend_pid() AND application_name NOT LIKE 'anabranch %'
GROUP BY application_name, client_addr
ORDER BY 1
"""
_FORGET_ACTIVITY = "SELECT pg_stat_clear_snapshot()"  # it is cached until the transaction ends
_HOLD = "SELECT pg_advisory_lock(%s), 'kv'::regclass::oid"
_RELEASE = "SELECT pg_advisory_unlock(%s)"
_TRY = b"SELECT pg_try_advisory_lock($1::text::bigint)::int, 'kv'::regclass::oid::text"
_UNLOCK = b"SELECT pg_advisory_unlock($1::text::bigint)"


class Snapshot:
    """The state of the database that `connection_string` names, at the moment it is opened. Its
    `name` is that of its host and its own.

    Its keys are read like those of a key-value store. Raises Invalid for a malformed connection
    string, Busy when the database cannot be reached or the connection is lost, and NotSupported
    for a database that has no tables of lakeFS or a schema of another version.
    """

    def __init__(self, connection_string: str) -> None:
        try:
            params = {k: str(v) for k, v in conninfo_to_dict(connection_string).items()}
        except psycopg.ProgrammingError as error:
            raise Invalid(
                "this is not a connection string of PostgreSQL",
                kind="invalid_connection_string",
                hint="Write it like postgres://user:password@host:5432/database.",
            ) from error
        try:
            self._connection = psycopg.connect(make_conninfo(**{**_DEFAULTS, **params}))
        except (psycopg.Error, OSError) as error:
            raise _unreachable(error) from error
        info = self._connection.info
        self.name = f"{info.host}/{info.dbname}"
        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self._connection.read_only = True
        try:
            self._rows(_SETTINGS)
            self._require_schema()
        except AnabranchError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def get(self, partition: str, key: bytes) -> bytes | None:
        """Returns the value, or None."""
        rows = self._rows(_GET, (encode_partition(partition), key))
        return cast("bytes", rows[0][0]) if rows else None

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yields (key, value) with start <= key < end, in order, at most `limit` of them."""
        return scan_in_pages(partial(self._page, encode_partition(partition)), start, end, limit)

    def partitions(self) -> list[PartitionSize]:
        """Returns all partitions, with the numbers of their keys. Reads the whole index."""
        return [PartitionSize(*row) for row in self._rows(_PARTITIONS)]

    def active_clients(self) -> list[str]:
        """Returns the names of other programs that are connected to the database, each with the
        time of its last statement if this account may see that. Anabranch's own are left out.
        """
        self._rows(_FORGET_ACTIVITY)
        return [str(row[0]) for row in self._rows(_OTHERS)]

    def is_database_of(self, connection: Connection) -> bool:
        """Returns whether a connection is to this database, and its table `kv` is this one: a lock
        that this one holds is then taken there.
        """
        number = secrets.randbits(62)
        ((_, table),) = self._rows(_HOLD, (number,))
        try:
            text = b"%d" % number
            (result,) = connection.run((_TRY, (text,)))
            taken = int.from_bytes(result.get_value(0, 0) or b"") == 0
            if not taken:
                connection.run((_UNLOCK, (text,)))
            return taken and result.get_value(0, 1) == b"%d" % table
        finally:
            self._rows(_RELEASE, (number,))

    def close(self) -> None:
        """Ends the transaction and closes the connection."""
        self._connection.close()

    def _page(
        self, partition: bytes, start: bytes, end: bytes | None, limit: int
    ) -> list[tuple[bytes, bytes]]:
        if end is None:
            return self._rows(_PAGE, (partition, start, limit))
        return self._rows(_PAGE_TO, (partition, start, end, limit))

    def _rows(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql.encode(), values or None, binary=True).fetchall()
        except psycopg.errors.UndefinedTable as error:
            raise NotSupported(
                f"the database {self.name} has no table kv",
                kind="not_lakefs",
                hint="Is it lakeFS's database? Its setting is database.postgres.connection_string.",
            ) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise NotSupported(
                f"the database {self.name} may not be read with this account: {_reason(error)}",
                kind="privilege_missing",
                hint="Grant it SELECT on the table kv.",
            ) from error
        except (psycopg.Error, OSError) as error:
            raise _unreachable(error) from error

    def _require_schema(self) -> None:
        rows = self._rows(_VERSION)
        version = parse_version(rows[0][0]) if rows else None
        if version == SCHEMA_VERSION:
            return
        found = "no schema version" if version is None else f"schema version {version}"
        raise NotSupported(
            f"the database {self.name} has {found}; version {SCHEMA_VERSION}, of lakeFS 1.84, can "
            "be read",
            kind="unknown_schema",
            hint="Migrate it with lakeFS 1.84 first: `lakefs migrate up`."
            if version is None or version < SCHEMA_VERSION
            else "Use a later version of Anabranch.",
        )


def encode_partition(partition: str) -> bytes:
    """Returns a partition as it is stored; bytes that are not UTF-8 are surrogates in the text."""
    return partition.encode("utf-8", "surrogateescape")


def _unreachable(error: Exception) -> Busy:
    return Busy(f"the database cannot be read: {_reason(error)}", kind="database_unreachable")


def _reason(error: Exception) -> str:
    return "; ".join(dict.fromkeys(" ".join(line.split()) for line in str(error).splitlines()))
