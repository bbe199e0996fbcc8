"""Connections to HTTP servers, kept open between requests and used from many threads.

One request at a time goes over a connection; a body is sent whole and an answer is read whole, so
that what is handed out was not cut off. Nothing is sent again here.
"""

from __future__ import annotations

import contextlib
import http.client
import ssl
import threading
from collections.abc import Mapping
from typing import BinaryIO, NamedTuple
from urllib.parse import urlsplit

__all__ = ["HttpAnswer", "HttpPool"]

_IDLE = 32
_SEND_BYTES = 1 << 18


class HttpAnswer(NamedTuple):
    """An answer; the headers' names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpPool:
    """Connections to any servers; at most 32 of each stay open."""

    def __init__(self, *, silence_seconds: float, connect_seconds: float) -> None:
        self._silence = silence_seconds
        self._connect = connect_seconds
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, str], list[http.client.HTTPConnection]] = {}
        self._tls: ssl.SSLContext | None = None

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | BinaryIO = b""
    ) -> HttpAnswer:
        """Returns the answer to a request; `headers` name the length of a body that is a file.

        Raises OSError and HTTPException for a server that cannot be reached, falls silent or
        hangs up too early.
        """
        parts = urlsplit(url)
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        server = parts.scheme, parts.netloc
        connection, used = self._take(server)
        try:
            try:
                answer = self._ask(connection, method, target, headers, body)
            except (http.client.RemoteDisconnected, ConnectionError):
                if not used:
                    raise
                # it had been closed while nobody used it, which says nothing about the server
                connection.close()
                connection = self._open(server)
                if not isinstance(body, bytes):
                    body.seek(0)
                answer = self._ask(connection, method, target, headers, body)
        except BaseException:
            connection.close()
            raise
        self._give_back(server, connection)
        return answer

    def close(self) -> None:
        """Closes what nobody uses."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    def _ask(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | BinaryIO,
    ) -> HttpAnswer:
        connection.request(method, target, body=body or None, headers=dict(headers))
        response = connection.getresponse()
        told = {name.lower(): value for name, value in response.getheaders()}
        content = response.read()
        if response.will_close:
            connection.close()
        return HttpAnswer(response.status, told, content)

    def _take(self, server: tuple[str, str]) -> tuple[http.client.HTTPConnection, bool]:
        """Returns a connection, and whether it has been used before."""
        with self._lock:
            idle = self._idle.get(server)
            if idle:
                return idle.pop(), True
        return self._open(server), False

    def _open(self, server: tuple[str, str]) -> http.client.HTTPConnection:
        scheme, host = server
        connection: http.client.HTTPConnection
        if scheme == "https":
            if self._tls is None:
                self._tls = ssl.create_default_context()
            connection = http.client.HTTPSConnection(
                host, timeout=self._connect, context=self._tls, blocksize=_SEND_BYTES
            )
        else:
            connection = http.client.HTTPConnection(
                host, timeout=self._connect, blocksize=_SEND_BYTES
            )
        connection.connect()
        connection.sock.settimeout(self._silence)
        return connection

    def _give_back(self, server: tuple[str, str], connection: http.client.HTTPConnection) -> None:
        if connection.sock is not None:
            with self._lock:
                idle = self._idle.setdefault(server, [])
                if len(idle) < _IDLE:
                    idle.append(connection)
                    return
        with contextlib.suppress(OSError):
            connection.close()
