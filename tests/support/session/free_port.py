"""A port for a server that must know it before it listens, or that listens there again later.

Ports that the system chooses, for servers and for outgoing connections alike, are from 32768 on by
default: one of these is perhaps no longer free when the server binds it.
"""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

__all__ = ["free_port"]

_PORTS = range(20_000, 32_000)


def free_port() -> int:
    """Returns a port of 127.0.0.1 that no process listens on, and that the system gives to none."""
    while True:
        port = secrets.choice(_PORTS)  # not `random`, whose seed workers may share
        with suppress(OSError), socket.socket() as listening:
            listening.bind(("127.0.0.1", port))
            return port
