"""The sockets that a server listens on."""

from __future__ import annotations

import ctypes
import socket
import struct
from contextlib import suppress

from anabranch.errors import Busy
from anabranch.server.config.settings import Address

__all__ = ["BACKLOG", "bind_same", "listen", "refuse_new_connections", "url_of"]

BACKLOG = 2048
"""How many connections may wait to be accepted."""

_SO_ATTACH_FILTER = getattr(socket, "SO_ATTACH_FILTER", 26)
_DROP_SYN = [
    (0x30, 0, 0, 13),  # load the flags of the TCP header
    (0x54, 0, 0, 0x12),  # and SYN | ACK
    (0x15, 0, 1, 0x02),  # if only SYN is set
    (0x06, 0, 0, 0),  # drop the packet
    (0x06, 0, 0, 0xFFFFFFFF),  # else accept it
]
"""A classic BPF program that drops the first packet of a connection: instructions as (code, jump if
true, jump if false, operand).
"""


def listen(address: Address, count: int = 1) -> list[socket.socket]:
    """Returns `count` sockets that listen on one address; port 0 is any free port. Raises Busy for
    an address that is in use or does not belong to this machine.
    """
    try:
        family, name = _resolve(address)
        # first without SO_REUSEPORT, with which another server could have the port, too
        first = _bind(address, family, name, shared=False)
        if count == 1:
            return [first]
        name = first.getsockname()[:2]
        first.close()
        return [_bind(address, family, name, shared=True) for _ in range(count)]
    except OSError as error:
        raise Busy(
            f"cannot listen on {address}: {error.strerror or error}",
            kind="cannot_listen",
            hint="Is another server running? Choose another address with --listen.",
        ) from None


def bind_same(listening: socket.socket) -> socket.socket:
    """Returns a socket bound to the address of another one, which must share its port. It does not
    listen yet; the system assigns connections to it as soon as it does.
    """
    bound = socket.socket(listening.family, listening.type)
    try:
        for level, option in (
            (socket.SOL_SOCKET, socket.SO_REUSEADDR),
            (socket.SOL_SOCKET, socket.SO_REUSEPORT),
            (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY),
        ):
            if level == socket.SOL_SOCKET or listening.family == socket.AF_INET6:
                bound.setsockopt(level, option, listening.getsockopt(level, option))
        bound.bind(listening.getsockname())
    except OSError:
        bound.close()
        raise
    return bound


def refuse_new_connections(listening: socket.socket) -> None:
    """Makes the system drop SYN packets to a socket; connections that are established or wait to be
    accepted stay. Closing the socket resets those that wait, so it is closed some time later. A
    client whose SYN was dropped sends it again, and is then refused or accepted by another socket.
    """
    program = b"".join(struct.pack("HBBI", *step) for step in _DROP_SYN)
    steps = ctypes.create_string_buffer(program, len(program))
    filter_program = struct.pack("HP", len(_DROP_SYN), ctypes.addressof(steps))
    with suppress(OSError):  # a system without such filters resets a few connections
        listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, filter_program)


def url_of(listening: socket.socket) -> str:
    """Returns the address of a socket as a URL that works on this machine."""
    host, port = listening.getsockname()[:2]
    if host in {"::", "0.0.0.0"}:  # noqa: S104  compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _resolve(address: Address) -> tuple[socket.AddressFamily, tuple[str, int]]:
    host = address.host or ("::" if socket.has_dualstack_ipv6() else "0.0.0.0")  # noqa: S104
    infos = socket.getaddrinfo(host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, _, _, _, name = infos[0]
    return family, (str(name[0]), int(name[1]))


def _bind(
    address: Address, family: socket.AddressFamily, name: tuple[str, int], *, shared: bool
) -> socket.socket:
    return socket.create_server(
        name,
        family=family,
        backlog=BACKLOG,
        reuse_port=shared,
        dualstack_ipv6=family == socket.AF_INET6 and not address.host,
    )
