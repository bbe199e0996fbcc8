"""Requests of the REST API, as bytes and as calls."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import urlsplit

from load import Load

__all__ = ["ApiRequests"]


class ApiRequests:
    """Makes requests of the server that `load` is for, at `url`, in the name of `auth`."""

    def __init__(self, load: Load, url: str, auth: tuple[str, str]) -> None:
        self._load = load
        pair = base64.b64encode(":".join(auth).encode()).decode()
        self._common = f"Host: {urlsplit(url).netloc}\r\nAuthorization: Basic {pair}\r\n"

    def request(self, method: str, path: str, body: Any = b"", *, part: str = "") -> bytes:
        """Returns a request as bytes; a body that is no bytes is sent as JSON. `part` is the range
        of bytes to read, `0-9`.
        """
        kind = "application/octet-stream"
        if not isinstance(body, bytes):
            body, kind = json.dumps(body).encode(), "application/json"
        lines = f"{method} /api/v1{path} HTTP/1.1\r\n{self._common}"
        if part:
            lines += f"Range: bytes={part}\r\n"
        if body:
            lines += f"Content-Type: {kind}\r\n"
        return f"{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def call(self, method: str, path: str, body: Any = b"") -> Any:
        """Makes one request and returns the answer's JSON; raises unless it succeeded."""
        status, answer = self._load.ask(self.request(method, path, body))
        assert status < 300, (method, path, status, answer)
        return json.loads(answer) if answer[:1] in {b"{", b"["} else answer
