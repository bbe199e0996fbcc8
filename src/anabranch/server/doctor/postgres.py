"""PostgreSQL: reached, migrated, ours to write to, and set up to keep what it acknowledges.

Each check asks over a connection that is there; `check_postgres` makes it.
"""

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
from anabranch.server.doctor.check_result import CheckResult, State, collected
from anabranch.server.doctor.clock import compare_clocks
from anabranch.server.stores.keyvalue_stores import connection_string

__all__ = ["check_postgres"]

ABOUT = "database"
_OLDEST = 12
"""The first version that answers all that is asked."""
_PARTITION, _TRIAL = "anabranch", b"doctor"


def check_postgres(
    database: Database, processes: int, clock: Callable[[], float]
) -> list[CheckResult]:
    """Connects to the database and asks it; `processes` is how many of one server will."""
    findings: list[CheckResult] = []
    with collected(ABOUT, findings):
        url = connection_string(database)
        connection = PostgresDatabase(url).connect()
        try:
            findings += check_version(connection)
            findings += check_durability(connection)
            findings += check_connections(connection, database, processes)
            findings += check_clock(connection, clock)
        except (ConnectionLost, StatementFailed) as error:
            findings.append(CheckResult(ABOUT, State.WRONG, f"the database broke off: {error}"))
        finally:
            connection.close()
        findings += check_writing(url)
    return findings


def check_version(connection: Connection) -> list[CheckResult]:
    """Looks at PostgreSQL's own version."""
    version = _setting(connection, "server_version")
    if int(_setting(connection, "server_version_num")) // 10_000 >= _OLDEST:
        return [CheckResult(ABOUT, State.SOUND, f"PostgreSQL {version} answers")]
    hint = f"Upgrade it to {_OLDEST} or later."
    return [CheckResult(ABOUT, State.WRONG, f"PostgreSQL {version} is too old", hint)]


def check_durability(connection: Connection) -> list[CheckResult]:
    """Looks whether a crash can take what was acknowledged."""
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
    """Looks whether PostgreSQL gives as many connections as all servers together may open: those
    that are connected now, and this one, whether it runs or not.
    """
    names = ("max_connections", "superuser_reserved_connections")
    most, reserved = (int(_setting(connection, name)) for name in names)
    clients = connected_clients(connection)
    # this server's own processes may be among those of this machine
    limits, running = clients.limits, clients.processes
    limits[host()] = max(limits[host()], database.postgres.max_open_connections * processes)
    running[host()] = max(running[host()], processes)
    wanted, given = limits.total(), most - reserved
    machines = "1 machine" if len(running) == 1 else f"{len(running)} machines"
    message = (
        f"PostgreSQL gives {given} connections; {running.total()} processes on {machines} "
        f"may open {wanted}, other programs have {clients.others}"
    )
    if wanted + clients.others <= given:
        return [CheckResult(ABOUT, State.SOUND, message)]
    hint = "Raise max_connections there, or lower database.postgres.max_open_connections."
    return [CheckResult(ABOUT, State.DOUBTFUL, message, hint)]


def check_clock(connection: Connection, clock: Callable[[], float]) -> list[CheckResult]:
    """Compares the database's clock with ours."""
    before = clock()
    (answer,) = connection.run((b"SELECT extract(epoch FROM clock_timestamp())::text", ()))
    theirs = float(answer.get_value(0, 0) or b"")
    return [compare_clocks("the database", theirs, before, clock())]


def check_writing(url: str) -> list[CheckResult]:
    """Opens the store as a server does, writes a key and removes it."""
    findings: list[CheckResult] = []
    with collected(ABOUT, findings):
        store = PostgresStore(url, max_open_connections=1)
        try:
            began = time.monotonic()
            for value in (b"", None):
                store.apply([Write(_PARTITION, _TRIAL, value)])
            milliseconds = (time.monotonic() - began) / 2 * 1000
        finally:
            store.close()
        message = f"its tables are there, a durable write takes {milliseconds:,.1f} ms"
        findings.append(CheckResult(ABOUT, State.SOUND, message))
    return findings


def _setting(connection: Connection, name: str) -> str:
    (answer,) = connection.run((b"SELECT current_setting($1)", (name.encode(),)))
    return (answer.get_value(0, 0) or b"").decode()
