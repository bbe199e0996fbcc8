"""Connections to checked addresses, all of whose steps together end at a deadline.

A socket's own timeout counts from each piece, so a server that sends a byte now and then would hold
a request for ever.
"""

from __future__ import annotations

import io
import socket
import ssl
import time
from contextlib import suppress
from typing import Any

from anabranch.outbound.address_guard import AddressGuard

__all__ = ["Deadline", "DeadlineSocket", "connect"]


class Deadline:
    """A time limit of `seconds` from now on."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Returns the seconds that are left. Raises TimeoutError if there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


class DeadlineSocket:
    """A connected socket whose reads and writes end at a deadline, as `http.client` uses it."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, content: bytes) -> None:
        """Sends all bytes."""
        view = memoryview(content)
        while view:
            self._sock.settimeout(self._deadline.remaining())
            view = view[self._sock.send(view) :]

    def makefile(self, mode: str) -> io.BufferedReader:  # noqa: ARG002  it is "rb"
        """Returns a stream of what is received."""
        return io.BufferedReader(_Received(self._sock, self._deadline))

    def close(self) -> None:
        """Closes the connection."""
        self._sock.close()


class _Received(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        # keeps the socket open until this is closed: `http.client` closes its connection before it
        # reads the body of the last response
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._deadline.remaining())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def connect(
    guard: AddressGuard, host: str, port: int, deadline: Deadline, tls: ssl.SSLContext | None
) -> DeadlineSocket:
    """Returns a connection to the first permitted address of a host that accepts one, encrypted
    with `tls` if given. Raises what the guard raises, and OSError.
    """
    destinations = guard.destinations(host, port, deadline.remaining())
    failed: OSError | None = None
    for number, (family, address) in enumerate(destinations):
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            # one that does not answer leaves time for the others
            sock.settimeout(deadline.remaining() / (len(destinations) - number))
            sock.connect(address)
            if tls is not None:
                sock.settimeout(deadline.remaining())
                sock = tls.wrap_socket(sock, server_hostname=host)
        except OSError as error:
            failed = error
            with suppress(OSError):
                sock.close()
        except BaseException:
            sock.close()
            raise
        else:
            return DeadlineSocket(sock, deadline)
    raise failed or OSError(f"{host} has no address")
