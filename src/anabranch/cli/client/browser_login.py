"""A login of the command line through a browser (RFC 8252): a listener on a port of this machine,
to which the server's page sends the browser back with a code.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from anabranch.cli.errors import Failure

__all__ = ["BrowserLogin", "Code"]

TIMEOUT = 300.0
"""How long to wait for the user, in seconds."""

_DONE = b"<!doctype html><title>Done</title><p>You are logged in. You can close this page.</p>"
_NOT_HERE = b"<!doctype html><title>Not here</title><p>This page belongs to another login.</p>"
_MAX_CODE_LENGTH = 8192


class Code(NamedTuple):
    """A code and the verifier that redeems it."""

    code: str
    verifier: str


class BrowserLogin:
    """A login that waits for the browser. Must be closed, as by `with`."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._verifier = secrets.token_urlsafe(48)
        self._state = secrets.token_urlsafe(24)
        digest = hashlib.sha256(self._verifier.encode()).digest()
        self._challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        self._code = ""
        self._received = threading.Event()
        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._receive))
        self._listener.daemon_threads = True
        self._thread = threading.Thread(target=self._listener.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown()
        self._listener.server_close()

    @property
    def url(self) -> str:
        """The page to open in the browser."""
        query = {
            "port": self._listener.server_port,
            "state": self._state,
            "challenge": self._challenge,
        }
        return f"{self._server}/auth/cli?{urlencode(query)}"

    @property
    def shown_code(self) -> str:
        """What the page shows, too, so that the user sees that it asks about this login."""
        text = hashlib.sha256(self._challenge.encode()).hexdigest()[:8].upper()
        return f"{text[:4]}-{text[4:]}"

    def wait(self, timeout: float = TIMEOUT) -> Code:
        """Returns the code that the browser brings; raises Failure if none comes within the
        timeout, in seconds.
        """
        deadline = time.monotonic() + timeout
        while not self._received.wait(0.2):  # in steps, so that Ctrl-C interrupts it
            if time.monotonic() >= deadline:
                raise Failure(
                    f"no login within {timeout:g} seconds",
                    kind="timeout",
                    hint="Run `anabranch login --browser` again.",
                )
        return Code(self._code, self._verifier)

    def _receive(self, target: str) -> bool:
        """Returns whether a request brings the code of this login."""
        query = parse_qs(urlsplit(target).query)
        state, code = query.get("state", [""])[0], query.get("code", [""])[0]
        if not hmac.compare_digest(state.encode("utf-8", "replace"), self._state.encode()):
            return False
        if not code or len(code) > _MAX_CODE_LENGTH:
            return False
        if not self._received.is_set():
            self._code = code
            self._received.set()
        return True


def _handler(receive: Callable[[str], bool]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            is_ours = receive(self.path)
            page = _DONE if is_ours else _NOT_HERE
            self.send_response(200 if is_ours else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.send_header("Referrer-Policy", "no-referrer")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *_: object) -> None:
            """Logs nothing: the code is in the request's line."""

    return Handler
