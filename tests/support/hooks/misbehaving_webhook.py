"""A webhook server for tests, most of whose paths misbehave.

with misbehaving_webhook() as server:
    server.url("/ok"), server.requests

/ok               200 with a short text
/status/N         the status N with a text
/flaky/N          500 to the first N requests, then 200
/echo             200 with the request's target, headers and body
/redirect/N?to=…  a redirect of status N to an address
/hang             accepts the request and never answers
/stream           200 and a body that never ends
/head             headers that never end
/megabytes        200 and a body of 8 MiB
/cut              a body that ends before its length
/nonsense         what is not HTTP
/close            closes the connection
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

__all__ = ["MisbehavingWebhook", "Received", "misbehaving_webhook"]

MEGABYTES = 8 << 20


class Received(NamedTuple):
    """A request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class MisbehavingWebhook:
    """A running server. `requests` are those that it has got, in order."""

    def __init__(self, port: int, scheme: str) -> None:
        self.requests: list[Received] = []
        self.counts: Counter[str] = Counter()
        self.stopped = threading.Event()
        self._origin = f"{scheme}://127.0.0.1:{port}"

    def url(self, target: str) -> str:
        """Returns the address of a path and query."""
        return self._origin + target


@contextmanager
def misbehaving_webhook(tls: ssl.SSLContext | None = None) -> Iterator[MisbehavingWebhook]:
    """Yields a running server, which uses `tls` if given."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    webhook = MisbehavingWebhook(server.server_port, "http" if tls is None else "https")
    server.webhook = webhook  # type: ignore[attr-defined]
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield webhook
    finally:
        webhook.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        webhook: MisbehavingWebhook = self.server.webhook  # type: ignore[attr-defined]
        self._webhook = webhook
        self._body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        webhook.requests.append(Received(self.command, self.path, headers, self._body))
        _, name, *rest = urlsplit(self.path).path.split("/")
        webhook.counts[name] += 1
        behave: Callable[..., None] = getattr(self, f"_{name}")
        with suppress(OSError):
            behave(*rest)

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _ok(self) -> None:
        self._answer(200, b"thank you")

    def _status(self, status: str, *_: str) -> None:
        self._answer(int(status), b"the reason")

    def _flaky(self, failures: str) -> None:
        failed = self._webhook.counts["flaky"] <= int(failures)
        self._answer(500 if failed else 200, b"not yet" if failed else b"now")

    def _echo(self) -> None:
        self._answer(200, f"{self.path}\n{self.headers}\n".encode() + self._body)

    def _redirect(self, status: str) -> None:
        (target,) = parse_qs(urlsplit(self.path).query)["to"]
        self._answer(int(status), b"", Location=target)

    def _hang(self) -> None:
        self._webhook.stopped.wait()

    def _drip(self, start: bytes, piece: bytes) -> None:
        self.wfile.write(start)
        while not self._webhook.stopped.wait(0.01):
            self.wfile.write(piece)

    def _stream(self) -> None:
        self._drip(b"HTTP/1.1 200 OK\r\n\r\n", b"x")

    def _head(self) -> None:
        self._drip(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n")

    def _megabytes(self) -> None:
        self._answer(200, b"x" * MEGABYTES)

    def _cut(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")
        self._close()

    def _nonsense(self) -> None:
        self.wfile.write(b"\x00\x01 this is not HTTP\r\n\r\n")
        self._close()

    def _close(self, *_: str) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
