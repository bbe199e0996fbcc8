"""HTTP servers of this process, for programs that send requests."""

from __future__ import annotations

import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Request(NamedTuple):
    """A request that a server has got."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Handler(http.server.BaseHTTPRequestHandler):
    """A request, whose body has been read, and what is written in response."""

    protocol_version = "HTTP/1.1"
    request_body = b""

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


Respond = Callable[[Handler], None]


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Prints nothing: clients end connections early on purpose."""


@contextmanager
def serving(
    respond: Respond, context: ssl.SSLContext | None = None
) -> Iterator[tuple[int, list[Request]]]:
    """Yields the port of a server and the requests that it has got; `respond` gets each handler."""
    seen: list[Request] = []

    class Responding(Handler):
        def handle_any(self) -> None:
            self.request_body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = dict(self.headers)
            seen.append(Request(self.command, self.path, headers, self.request_body))
            respond(self)

        do_GET = do_POST = do_PUT = do_HEAD = handle_any  # noqa: N815

    server = _Server(("127.0.0.1", 0), Responding)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server.server_port, seen
    finally:
        server.shutdown()
        server.server_close()


def answer(status: int = 200, body: bytes = b"", **headers: str) -> Respond:
    """Returns a function that responds; an underscore in the name of a header is a hyphen."""

    def respond(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    return respond
