"""Load on a server of this machine: so many requests in flight, each on a connection of its own.

Requests are bytes made beforehand and answers are read as bytes, so that the client takes little of
the processor that it shares with the server.
"""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import urlsplit

__all__ = ["Load", "Measured"]

_HEAD_END = b"\r\n\r\n"


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
        """Sends a request and returns the answer's status and body."""
        self._socket.sendall(request)
        received = b""
        while (end := received.find(_HEAD_END)) < 0:
            received += self._receive()
        head = received[:end].lower()
        at = head.find(b"content-length:")
        length = 0 if at < 0 else int(head[at + 15 : (head + b"\r").index(b"\r", at)])
        body = [received[end + 4 :]]
        missing = length - len(body[0])
        while missing > 0:
            body.append(self._receive())
            missing -= len(body[-1])
        return int(head[9:12]), b"".join(body)

    def _receive(self) -> bytes:
        piece = self._socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server has closed the connection")
        return piece

    def close(self) -> None:
        self._socket.close()


class Load:
    """Puts load on the server at `url`, which must be on this machine, in the name of `auth`."""

    def __init__(self, url: str, auth: tuple[str, str]) -> None:
        address = urlsplit(url)
        assert address.hostname == "127.0.0.1", "only this machine is put under load"
        self._address = (address.hostname, address.port or 80)
        pair = base64.b64encode(":".join(auth).encode()).decode()
        self._common = f"Host: {address.netloc}\r\nAuthorization: Basic {pair}\r\n"
        self._one = Connection(self._address)

    def request(self, method: str, path: str, body: Any = b"") -> bytes:
        """Returns a request as bytes; a body that is no bytes is sent as JSON."""
        kind = "application/octet-stream"
        if not isinstance(body, bytes):
            body, kind = json.dumps(body).encode(), "application/json"
        lines = f"{method} /api/v1{path} HTTP/1.1\r\n{self._common}"
        if body:
            lines += f"Content-Type: {kind}\r\n"
        return f"{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def call(self, method: str, path: str, body: Any = b"") -> Any:
        """Makes one request and returns the answer's JSON; raises unless it succeeded."""
        status, answer = self._one.ask(self.request(method, path, body))
        assert status < 300, (method, path, status, answer)
        return json.loads(answer) if answer[:1] in {b"{", b"["} else answer

    def run(
        self, make: Callable[[], bytes], *, in_flight: int, seconds: float = 0, count: int = 0
    ) -> Measured:
        """Keeps `in_flight` requests under way, for so many seconds or until `count` were made."""
        took: list[float] = []
        left = iter(range(count)) if count else None
        deadline = time.perf_counter() + (seconds or 3600)

        def work() -> None:
            connection = Connection(self._address)
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
