"""Pool of HTTP/1.1 connections, for use from many threads.

A connection carries one request at a time. Responses are read whole before they are returned, so a
caller never sees a truncated one. Requests are not retried here.
"""

from __future__ import annotations

import contextlib
import http.client
import ssl
import threading
from collections.abc import Mapping
from typing import BinaryIO, NamedTuple
from urllib.parse import urlsplit

__all__ = ["HttpPool", "HttpResponse"]

_MAX_IDLE = 32
_SEND_BLOCK_BYTES = 1 << 18


class HttpResponse(NamedTuple):
    """An response; the headers' names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpPool:
    """Connections to any servers, of which at most 32 to each stay open. Timeouts are in
    seconds.
    """

    def __init__(self, *, read_timeout: float, connect_timeout: float) -> None:
        self._read_timeout = read_timeout
        self._connect_timeout = connect_timeout
        self._lock = threading.Lock()
        self._idle: dict[tuple[str, str], list[http.client.HTTPConnection]] = {}
        self._tls: ssl.SSLContext | None = None

    def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | BinaryIO = b""
    ) -> HttpResponse:
        """Returns the response to a request. For a body that is a file, `headers` must have its
        length.

        Raises OSError and HTTPException if the server cannot be reached, times out or closes the
        connection early.
        """
        parts = urlsplit(url)
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        server = parts.scheme, parts.netloc
        connection, is_reused = self._acquire(server)
        try:
            try:
                response = self._request(connection, method, target, headers, body)
            except (http.client.RemoteDisconnected, ConnectionError):
                if not is_reused:
                    raise
                # an idle connection that the server closed, which is not an error of the server
                connection.close()
                connection = self._open(server)
                if not isinstance(body, bytes):
                    body.seek(0)
                response = self._request(connection, method, target, headers, body)
        except BaseException:
            connection.close()
            raise
        self._release(server, connection)
        return response

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    def _request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | BinaryIO,
    ) -> HttpResponse:
        connection.request(method, target, body=body or None, headers=dict(headers))
        response = connection.getresponse()
        lower_headers = {name.lower(): value for name, value in response.getheaders()}
        content = response.read()
        if response.will_close:
            connection.close()
        return HttpResponse(response.status, lower_headers, content)

    def _acquire(self, server: tuple[str, str]) -> tuple[http.client.HTTPConnection, bool]:
        """Returns a connection, and whether it was idle in the pool."""
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
                host, timeout=self._connect_timeout, context=self._tls, blocksize=_SEND_BLOCK_BYTES
            )
        else:
            connection = http.client.HTTPConnection(
                host, timeout=self._connect_timeout, blocksize=_SEND_BLOCK_BYTES
            )
        connection.connect()
        connection.sock.settimeout(self._read_timeout)
        return connection

    def _release(self, server: tuple[str, str], connection: http.client.HTTPConnection) -> None:
        if connection.sock is not None:
            with self._lock:
                idle = self._idle.setdefault(server, [])
                if len(idle) < _MAX_IDLE:
                    idle.append(connection)
                    return
        with contextlib.suppress(OSError):
            connection.close()
