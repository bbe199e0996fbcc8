"""Checks of PostgreSQL: connection, version, schema, permissions, durability and clock."""

from __future__ import annotations

import time
from collections.abc import Callable

from anabranch.keyvalue.contract import Write
from anabranch.keyvalue.postgres.clients import connected_clients, host
from anabranch.keyvalue.postgres.connection import Connection
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.errors import ConnectionLost, StatementFailed
from anabranch.keyvalue.postgres.store import PostgresStore
from anabranch.server.config.settings import Database
from anabranch.server.doctor.check_result import CheckResult, State, errors_collected
from anabranch.server.doctor.clock import compare_clocks
from anabranch.server.stores.keyvalue_stores import connection_string

__all__ = ["check_postgres"]

ABOUT = "database"
_MIN_VERSION = 12
"""The first version of PostgreSQL that has everything that the store uses."""
_PARTITION, _TRIAL = "anabranch", b"doctor"


def check_postgres(
    database: Database, processes: int, clock: Callable[[], float]
) -> list[CheckResult]:
    """Connects to the database and runs all checks; `processes` is the number of processes of this
    server.
    """
    results: list[CheckResult] = []
    with errors_collected(ABOUT, results):
        url = connection_string(database)
        connection = PostgresDatabase(url).connect()
        try:
            results += check_version(connection)
            results += check_durability(connection)
            results += check_connections(connection, database, processes)
            results += check_clock(connection, clock)
        except (ConnectionLost, StatementFailed) as error:
            results.append(CheckResult(ABOUT, State.WRONG, f"the connection was lost: {error}"))
        finally:
            connection.close()
        results += check_writing(url)
    return results


def check_version(connection: Connection) -> list[CheckResult]:
    """Checks the version of PostgreSQL."""
    version = _setting(connection, "server_version")
    if int(_setting(connection, "server_version_num")) // 10_000 >= _MIN_VERSION:
        return [CheckResult(ABOUT, State.SOUND, f"PostgreSQL {version} responds")]
    hint = f"Upgrade it to {_MIN_VERSION} or later."
    return [CheckResult(ABOUT, State.WRONG, f"PostgreSQL {version} is too old", hint)]


def check_durability(connection: Connection) -> list[CheckResult]:
    """Checks that a crash cannot lose acknowledged writes."""
    hint = "Set it to on in PostgreSQL's settings."
    return [
        CheckResult(
            ABOUT, State.WRONG, f"{name} is off: a crash may lose or damage everything", hint
        )
        for name in ("fsync", "full_page_writes")
        if _setting(connection, name) == "off"
    ]


def check_connections(
    connection: Connection, database: Database, processes: int
) -> list[CheckResult]:
    """Checks that PostgreSQL allows as many connections as all servers together may open: those
    that are connected now and this one, which may or may not be running.
    """
    names = ("max_connections", "superuser_reserved_connections")
    maximum, reserved = (int(_setting(connection, name)) for name in names)
    clients = connected_clients(connection)
    # this server's own processes may be among those of this machine
    limits, running = clients.limits, clients.processes
    limits[host()] = max(limits[host()], database.postgres.max_open_connections * processes)
    running[host()] = max(running[host()], processes)
    wanted, allowed = limits.total(), maximum - reserved
    machines = "1 machine" if len(running) == 1 else f"{len(running)} machines"
    message = (
        f"PostgreSQL allows {allowed} connections; {running.total()} processes on {machines} "
        f"may open {wanted}, other programs have {clients.others}"
    )
    if wanted + clients.others <= allowed:
        return [CheckResult(ABOUT, State.SOUND, message)]
    hint = "Raise max_connections there, or lower database.postgres.max_open_connections."
    return [CheckResult(ABOUT, State.DOUBTFUL, message, hint)]


def check_clock(connection: Connection, clock: Callable[[], float]) -> list[CheckResult]:
    """Compares the database's clock with this machine's."""
    before = clock()
    (result,) = connection.run((b"SELECT extract(epoch FROM clock_timestamp())::text", ()))
    theirs = float(result.get_value(0, 0) or b"")
    return [compare_clocks("the database", theirs, before, clock())]


def check_writing(url: str) -> list[CheckResult]:
    """Opens the store as a server does, writes a key and deletes it."""
    results: list[CheckResult] = []
    with errors_collected(ABOUT, results):
        store = PostgresStore(url, max_open_connections=1)
        try:
            start = time.monotonic()
            for value in (b"", None):
                store.apply([Write(_PARTITION, _TRIAL, value)])
            milliseconds = (time.monotonic() - start) / 2 * 1000
        finally:
            store.close()
        message = f"its tables exist, a durable write takes {milliseconds:,.1f} ms"
        results.append(CheckResult(ABOUT, State.SOUND, message))
    return results


def _setting(connection: Connection, name: str) -> str:
    (result,) = connection.run((b"SELECT current_setting($1)", (name.encode(),)))
    return (result.get_value(0, 0) or b"").decode()
