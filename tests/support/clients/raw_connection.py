"""A client connection that can send several requests at once and reads responses one by one."""

from __future__ import annotations

import http.client
import io
import socket
from http.client import HTTPMessage

__all__ = ["Wire"]


class Wire:
    """A connection that sends bytes and reads responses. Unlike `http.client`, it keeps the bytes
    of further responses that arrive together.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.file = connection.makefile("rb")

    def send(self, *requests: bytes) -> None:
        """Sends requests together."""
        self.socket.sendall(b"".join(requests))

    def read_response(self, method: str = "GET") -> tuple[int, HTTPMessage, bytes]:
        """Returns the status, the headers and the body of the next response."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            assert line, f"the connection has ended after {head!r}"
            head += line
        parsed = http.client.HTTPResponse(_Bytes(head), method=method)  # type: ignore[arg-type]
        parsed.begin()
        return parsed.status, parsed.headers, self.file.read(parsed.length or 0)

    def at_end(self) -> bool:
        """Waits for more bytes; returns whether the server has closed the connection instead."""
        return self.file.read(1) == b""

    def close(self) -> None:
        """Closes the connection."""
        self.file.close()
        self.socket.close()


class _Bytes:
    """Bytes in place of a socket."""

    def __init__(self, head: bytes) -> None:
        self._head = head

    def makefile(self, _mode: str) -> io.BytesIO:
        """Returns the bytes as a file."""
        return io.BytesIO(self._head)
