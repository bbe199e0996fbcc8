"""The processes connected to a PostgreSQL server, read from the names of their connections.

The name of a store's connection states its process and how many connections that process may open,
so that `pg_stat_activity` shows how many connections all servers together may open.
"""

from __future__ import annotations

import os
import re
import socket
from collections import Counter
from typing import NamedTuple

from anabranch.keyvalue.postgres.connection import Connection

__all__ = ["Clients", "connected_clients", "connection_name"]

_MAX_NAME_BYTES = 63  # of PostgreSQL; longer names are cut
_NAME = re.compile(r"anabranch (\d+) (\d+)@(.*)")
_NAMES = (
    b"SELECT coalesce(application_name, '') FROM pg_stat_activity "
    b"WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class Clients(NamedTuple):
    """The connected clients: for each machine, how many connections Anabranch's processes there may
    open and the number of these processes; and the number of other programs' connections.
    """

    limits: Counter[str]
    processes: Counter[str]
    others: int


def connection_name(max_open: int) -> str:
    """Returns the name of the connections of this process, which opens at most `max_open`."""
    name = f"anabranch {max_open} {os.getpid()}@{host()}"
    return name.encode("ascii", "replace")[:_MAX_NAME_BYTES].decode()


def host() -> str:
    """Returns the name of this machine, cut to the length that fits into a connection's name."""
    return socket.gethostname().encode("ascii", "replace").decode()[:32]


def connected_clients(connection: Connection) -> Clients:
    """Returns the clients connected to the server, except for `connection` itself."""
    (result,) = connection.run((_NAMES, ()))
    names = [(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)]
    limits: Counter[str] = Counter()
    processes: Counter[str] = Counter()
    matches = [_NAME.fullmatch(name) for name in names]
    for max_open, _, machine in {match.groups() for match in matches if match}:
        limits[machine] += int(max_open)
        processes[machine] += 1
    return Clients(limits, processes, matches.count(None))
