"""Load on a server of this machine: so many requests in flight, each on a connection of its own.

Requests are bytes made beforehand and answers are read as bytes, so that the client takes little of
the processor that it shares with the server.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

__all__ = ["Connection", "Load", "Measured"]

_HEAD_END = b"\r\n\r\n"
_KEPT = 4 << 20


class Measured(NamedTuple):
    """What a run came to: seconds of each request, sorted, and of the whole."""

    seconds: list[float]
    whole: float

    @property
    def count(self) -> int:
        return len(self.seconds)

    def at(self, share: float) -> float:
        """Returns the seconds within which so large a share of requests was answered."""
        return self.seconds[min(int(self.count * share), self.count - 1)]


class Connection:
    """One keep-alive connection."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._socket = socket.create_connection(address)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Sends a request and returns the answer's status and body; of one that is larger than
        4 MiB, nothing.
        """
        self._socket.sendall(request)
        received = b""
        while (end := received.find(_HEAD_END)) < 0:
            received += self._receive()
        head = received[:end].lower()
        if b"transfer-encoding: chunked" in head:
            return int(head[9:12]), self._chunks(received[end + 4 :])
        at = head.find(b"content-length:")
        length = 0 if at < 0 else int(head[at + 15 : (head + b"\r").index(b"\r", at)])
        body = [received[end + 4 :]]
        missing = 0 if request.startswith(b"HEAD ") else length - len(body[0])
        if missing > _KEPT:
            self._pass_over(missing)
            return int(head[9:12]), b""
        while missing > 0:
            body.append(self._receive())
            missing -= len(body[-1])
        return int(head[9:12]), b"".join(body)

    def _chunks(self, received: bytes) -> bytes:
        """Returns a body that is sent in chunks, as lakeFS sends long ones."""
        pieces = []
        while True:
            while (end := received.find(b"\r\n")) < 0:
                received += self._receive()
            length = int(received[:end], 16)
            while len(received) < end + 4 + length:
                received += self._receive()
            pieces.append(received[end + 2 : end + 2 + length])
            received = received[end + 4 + length :]
            if not length:
                return b"".join(pieces)

    @property
    def is_closed(self) -> bool:
        """Whether the server has closed the connection, as it does after some time."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False

    def _pass_over(self, amount: int) -> None:
        buffer = bytearray(1 << 20)
        while amount:
            got = self._socket.recv_into(buffer, min(amount, len(buffer)))
            if not got:
                raise ConnectionError("the server has closed the connection")
            amount -= got

    def _receive(self) -> bytes:
        piece = self._socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server has closed the connection")
        return piece

    def close(self) -> None:
        self._socket.close()


class Load:
    """Puts load on the server at `url`, which must be on this machine."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        assert address.hostname == "127.0.0.1", "only this machine is put under load"
        self.address = (address.hostname, address.port or 80)
        self._one = Connection(self.address)

    def ask(self, request: bytes) -> tuple[int, bytes]:
        """Makes one request and returns the answer's status and body."""
        if self._one.is_closed:
            self._one.close()
            self._one = Connection(self.address)
        return self._one.ask(request)

    def run(
        self, make: Callable[[], bytes], *, in_flight: int, seconds: float = 0, count: int = 0
    ) -> Measured:
        """Keeps `in_flight` requests under way, for so many seconds or until `count` were made."""
        took: list[float] = []
        left = iter(range(count)) if count else None
        deadline = time.perf_counter() + (seconds or 3600)

        def work() -> None:
            connection = Connection(self.address)
            mine = []
            while time.perf_counter() < deadline and (left is None or next(left, None) is not None):
                request = make()
                began = time.perf_counter()
                status, answer = connection.ask(request)
                mine.append(time.perf_counter() - began)
                assert status < 300, (status, answer)
            connection.close()
            took.extend(mine)

        began = time.perf_counter()
        threads = [threading.Thread(target=work) for _ in range(in_flight)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return Measured(sorted(took), time.perf_counter() - began)
