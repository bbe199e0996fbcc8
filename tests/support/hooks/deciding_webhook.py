"""A webhook server for tests that lets a function decide about each event.

with deciding_webhook(lambda event: event["branch_id"] != "main") as webhook:
    webhook.url, webhook.events
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["DecidingWebhook", "deciding_webhook"]

Decide = Callable[[dict[str, Any]], bool]


class DecidingWebhook:
    """A running server. `events` are those that it has got, in order."""

    def __init__(self, url: str, decide: Decide) -> None:
        self.url = url
        self.events: list[dict[str, Any]] = []
        self.decide = decide

    def of(self, event_type: str) -> list[dict[str, Any]]:
        """Returns the events of a type."""
        return [event for event in self.events if event["event_type"] == event_type]


@contextmanager
def deciding_webhook(decide: Decide = lambda _: True) -> Iterator[DecidingWebhook]:
    """Yields a running server, which responds with 200 if `decide` returns True, else with 400."""
    server = _Server(("127.0.0.1", 0), _Handler)
    webhook = DecidingWebhook(f"http://127.0.0.1:{server.server_port}/hook", decide)
    server.webhook = webhook  # type: ignore[attr-defined]
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield webhook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 256  # by default 5, of many requests at once some would get no connection
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        webhook: DecidingWebhook = self.server.webhook  # type: ignore[attr-defined]
        event = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        webhook.events.append(event)
        body = b"decided"
        self.send_response(200 if webhook.decide(event) else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass
