"""A repository with a branch to propose, and a server that receives notifications."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.eventually import eventually

from anabranch.catalog.notifications.sender import Sender

SECRET = "T0/B0/cedfca83"


class Receiver:
    """A running server that responds with `status`; `requests` are paths, headers and bodies."""

    def __init__(self):
        self.status = 200
        self.requests = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers), json.loads(body)))
                self.send_response(receiver.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/{SECRET}?token={SECRET}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def bodies(self):
        return [body for _, _, body in self.requests]


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


@pytest.fixture
def lake(lake):
    lake.branches.create("sea", "work", "main")
    lake.objects.upload("sea", "work", "a", [b"1"])
    lake.commits.commit("sea", "work", message="m", committer="ada")
    return lake


@pytest.fixture
def sender(lake):
    """A sender that may reach this machine, and sends only when it is told to."""
    sender = Sender(lake.core, ["127.0.0.1"])
    yield sender
    sender.stop()


def outbox(lake):
    return [raw for _, raw in lake.core.keyvalue.scan("anabranch-outbox")]


@pytest.fixture
def deliver(lake, sender):
    """Sends all that is to be sent now, and waits until it has been tried."""

    def tried():
        sender.send_waiting()
        return not list(lake.core.outbox.waiting()) and not sender.is_sending

    return lambda: eventually(tried)
