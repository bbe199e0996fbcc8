"""A socket with scripted responses, for tests of clients."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from typing import BinaryIO

__all__ = ["ScriptedSocket", "answer"]


def answer(status: str, body: bytes = b"{}", *headers: str, length: int | None = None) -> bytes:
    """Returns an HTTP answer of JSON; `length` announces another length than the body's."""
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/json",
        f"Content-Length: {len(body) if length is None else length}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class ScriptedSocket:
    """Sends one response to each connection, in order, and closes it. `requests` are the requests,
    heads and bodies.
    """

    def __init__(self, answers: Iterable[bytes]) -> None:
        self.requests: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._play, args=(list(answers),), daemon=True).start()

    def close(self) -> None:
        """Stops listening."""
        self._socket.close()

    def _play(self, answers: list[bytes]) -> None:
        for reply in answers:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed before all was asked for
            with connection, connection.makefile("rb") as reader:
                self.requests.append(_request(reader))
                connection.sendall(reply)


def _request(reader: BinaryIO) -> bytes:
    head = b""
    while (line := reader.readline()) not in (b"\r\n", b""):
        head += line
    fields = dict(line.lower().split(b": ", 1) for line in head.splitlines()[1:])
    if b"content-length" in fields:
        return head + b"\r\n" + reader.read(int(fields[b"content-length"]))
    if fields.get(b"transfer-encoding") == b"chunked":
        return head + b"\r\n" + _chunks(reader)
    return head


def _chunks(reader: BinaryIO) -> bytes:
    body = b""
    while size := int(reader.readline(), 16):
        body += reader.read(size)
        reader.readline()
    reader.readline()
    return body
