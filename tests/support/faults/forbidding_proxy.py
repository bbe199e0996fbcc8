"""A proxy before an object store that refuses what credentials without some right may not do.

    with ForbiddingProxy("s3", s3.port, {"delete"}) as proxy:
        s3.blocks(proxy.port)                       may list, read and write, not delete

It answers as the stores do: S3 tells of each key that a list of deletions names; who may not list
its bucket is not told that a key is missing, but refused; Azure answers parts of a batch.
"""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

__all__ = ["ForbiddingProxy"]

_TICK_SECONDS = 0.02
_CODES = {
    "s3": "AccessDenied",
    "gs": "AccessDenied",
    "azure": "AuthorizationPermissionMismatch",
}
_NAMES_BEFORE_KEYS = {"s3": 1, "gs": 1, "azure": 2}
_KEY = re.compile(rb"<Key>(.*?)</Key>")
_CONTENT_ID = re.compile(rb"Content-ID: *(\d+)", re.IGNORECASE)
_HOPS = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}


class _Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class ForbiddingProxy:
    """A proxy on `port` of 127.0.0.1 before a store of a kind (`s3`, `gs`, `azure`), which
    forbids some of `list`, `read`, `write`, `delete` and `parts`.
    """

    def __init__(self, kind: str, server_port: int, forbidden: Collection[str]) -> None:
        self.kind = kind
        self.forbidden = forbidden
        self._server_port = server_port
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                answer = proxy.answer(self.command, self.path, dict(self.headers), body)
                self.send_response(answer.status)
                for name, value in answer.headers:
                    self.send_header(name, value)
                if not (self.command == "HEAD" and "Content-Length" in dict(answer.headers)):
                    self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815  its names

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.port: int = self._http.server_address[1]
        self._serving = threading.Thread(
            target=self._http.serve_forever, args=(_TICK_SECONDS,), daemon=True
        )

    def __enter__(self) -> Self:
        self._serving.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._serving.join()
        self._http.server_close()

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> _Answer:
        """Returns the store's answer to a request, or a refusal."""
        right = self._right(method, target)
        if right in self.forbidden:
            return self._refusal(method, target, body)
        answer = self._forward(method, target, headers, body)
        untold = self.kind != "azure" and right == "read" and "list" in self.forbidden
        if answer.status == 404 and untold:
            return self._refusal(method, target, body)
        return answer

    def _right(self, method: str, target: str) -> str:
        """Returns the right that a request needs."""
        parts = urlsplit(target)
        names = parts.path.strip("/").split("/")
        query = parse_qs(parts.query, keep_blank_values=True)
        if "uploadId" in query and method in {"GET", "DELETE"}:
            return "parts"
        if method == "DELETE" or "delete" in query or query.get("comp") == ["batch"]:
            return "delete"
        if method in {"PUT", "POST"}:
            return "write"
        return "list" if len(names) <= _NAMES_BEFORE_KEYS[self.kind] else "read"

    def _refusal(self, method: str, target: str, body: bytes) -> _Answer:
        code = _CODES[self.kind]
        told = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        xml = [("Content-Type", "application/xml")]
        if self.kind == "s3" and method == "POST" and "delete" in urlsplit(target).query:
            errors = b"".join(
                b"<Error><Key>%s</Key><Code>%s</Code><Message>no</Message></Error>"
                % (key, code.encode())
                for key in _KEY.findall(body)
            )
            return _Answer(200, xml, b"<DeleteResult>%s</DeleteResult>" % errors)
        if self.kind == "azure" and "comp=batch" in target:
            parts = b"".join(
                b"--batch\r\nContent-Type: application/http\r\nContent-ID: %s\r\n\r\n"
                b"HTTP/1.1 403 Forbidden\r\nx-ms-error-code: %s\r\nContent-Length: 0\r\n\r\n\r\n"
                % (number, code.encode())
                for number in _CONTENT_ID.findall(body)
            )
            mixed = [("Content-Type", "multipart/mixed; boundary=batch")]
            return _Answer(202, mixed, parts + b"--batch--\r\n")
        return _Answer(403, xml, b"" if method == "HEAD" else told)

    def _forward(self, method: str, target: str, headers: dict[str, str], body: bytes) -> _Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self._server_port, timeout=60)
        try:
            connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
            for name, value in headers.items():
                if name.lower() not in {"connection", "transfer-encoding"}:
                    connection.putheader(name, value)
            connection.endheaders(body)
            response: Any = connection.getresponse()
            kept = [
                (name, value)
                for name, value in response.getheaders()
                if name.lower() not in _HOPS or (method == "HEAD" and name == "Content-Length")
            ]
            return _Answer(response.status, kept, response.read())
        finally:
            connection.close()
