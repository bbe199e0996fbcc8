"""Which processes are connected to a PostgreSQL server, told by the names of their connections.

Every connection of a store is named after its process and how many that process may open, so that
anyone who may look at `pg_stat_activity` can count what all servers together may ask for.
"""

from __future__ import annotations

import os
import re
import socket
from collections import Counter
from typing import NamedTuple

from anabranch.keyvalue.postgres_connection import Connection

__all__ = ["Clients", "connected_clients", "connection_name"]

_MAX_NAME_BYTES = 63  # of PostgreSQL; longer names are cut
_NAME = re.compile(r"anabranch (\d+) (\d+)@(.*)")
_NAMES = (
    b"SELECT coalesce(application_name, '') FROM pg_stat_activity "
    b"WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class Clients(NamedTuple):
    """What is connected: by machine the connections that our processes on it may open and the
    number of these processes; and how many connections others have.
    """

    limits: Counter[str]
    processes: Counter[str]
    others: int


def connection_name(most_open: int) -> str:
    """Returns the name of the connections of this process, which opens at most so many."""
    name = f"anabranch {most_open} {os.getpid()}@{host()}"
    return name.encode("ascii", "replace")[:_MAX_NAME_BYTES].decode()


def host() -> str:
    """Returns the name of this machine, as far as it fits into a connection's name."""
    return socket.gethostname().encode("ascii", "replace").decode()[:32]


def connected_clients(connection: Connection) -> Clients:
    """Returns what is connected to the server, the connection that asks left out."""
    (answer,) = connection.run((_NAMES, ()))
    names = [(answer.get_value(row, 0) or b"").decode() for row in range(answer.ntuples)]
    limits: Counter[str] = Counter()
    processes: Counter[str] = Counter()
    matches = [_NAME.fullmatch(name) for name in names]
    for most, _, machine in {found.groups() for found in matches if found}:
        limits[machine] += int(most)
        processes[machine] += 1
    return Clients(limits, processes, matches.count(None))
