"""The sockets that a server listens on."""

from __future__ import annotations

import socket

from anabranch.errors import Busy
from anabranch.server.settings import Address

__all__ = ["BACKLOG", "listen", "url_of"]

BACKLOG = 2048
"""How many connections may wait to be taken."""


def listen(address: Address, count: int = 1) -> list[socket.socket]:
    """Returns so many sockets that listen on one address; port 0 is any port that is free. Raises
    Busy for an address that is taken, or is none of this machine.
    """
    try:
        family, name = _resolved(address)
        # tried alone first: sockets that share a port would share it with another server too
        first = _bound(address, family, name, shared=False)
        if count == 1:
            return [first]
        name = first.getsockname()[:2]
        first.close()
        return [_bound(address, family, name, shared=True) for _ in range(count)]
    except OSError as error:
        raise Busy(
            f"cannot listen on {address}: {error.strerror or error}",
            kind="cannot_listen",
            hint="Is another server running? Choose another address with --listen.",
        ) from None


def url_of(listening: socket.socket) -> str:
    """Returns the address of a socket as a URL that works on this machine."""
    host, port = listening.getsockname()[:2]
    if host in {"::", "0.0.0.0"}:  # noqa: S104  to be shown, not to be bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _resolved(address: Address) -> tuple[socket.AddressFamily, tuple[str, int]]:
    host = address.host or ("::" if socket.has_dualstack_ipv6() else "0.0.0.0")  # noqa: S104
    found = socket.getaddrinfo(host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, name = found[0]
    return family, (str(name[0]), int(name[1]))


def _bound(
    address: Address, family: socket.AddressFamily, name: tuple[str, int], *, shared: bool
) -> socket.socket:
    return socket.create_server(
        name,
        family=family,
        backlog=BACKLOG,
        reuse_port=shared,
        dualstack_ipv6=family == socket.AF_INET6 and not address.host,
    )
