"""A connection to a server on which many requests may be sent, and answers are read one by one."""

from __future__ import annotations

import http.client
import io
import socket
from http.client import HTTPMessage

__all__ = ["Wire"]


class Wire:
    """Bytes to a server and answers back. Of several answers that came together, none is lost,
    which `http.client` alone would.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.file = connection.makefile("rb")

    def send(self, *requests: bytes) -> None:
        """Sends requests, in one go."""
        self.socket.sendall(b"".join(requests))

    def answer(self, method: str = "GET") -> tuple[int, HTTPMessage, bytes]:
        """Reads one answer: its status, its headers and its body."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            assert line, f"the connection has ended after {head!r}"
            head += line
        parsed = http.client.HTTPResponse(_Given(head), method=method)  # type: ignore[arg-type]
        parsed.begin()
        return parsed.status, parsed.headers, self.file.read(parsed.length or 0)

    def at_end(self) -> bool:
        """Returns whether the server has ended the connection, having waited for that."""
        return self.file.read(1) == b""

    def close(self) -> None:
        """Ends the connection."""
        self.file.close()
        self.socket.close()


class _Given:
    """Bytes in place of a socket."""

    def __init__(self, head: bytes) -> None:
        self._head = head

    def makefile(self, _mode: str) -> io.BytesIO:
        """Returns them as a file."""
        return io.BytesIO(self._head)
