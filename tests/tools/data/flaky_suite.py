"""Tests that fail only in some orders, on a slow disk or with late responses, and a steady one.

`test_flakes.py` copies them into a folder of their own and runs them there.
"""

from __future__ import annotations

import http.client
import http.server
import os
import tempfile
import threading
import time
from pathlib import Path

SYNCS, SYNC_SECONDS = 20, 0.3
REQUESTS, REQUEST_SECONDS = 40, 1.0
MEMORY = Path("/dev/shm")

_ran = []


def test_begins():
    assert _ran == []


def test_steady():
    _ran.append("steady")


def test_fast_disk():
    """In memory, where the call itself takes no time, whatever other processes write."""
    with tempfile.TemporaryFile(dir=MEMORY if MEMORY.is_dir() else None) as file:
        begin = time.monotonic()
        for _ in range(SYNCS):
            os.fsync(file.fileno())
        assert time.monotonic() - begin < SYNC_SECONDS


def test_fast_responses():
    server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        begin = time.monotonic()
        for _ in range(REQUESTS):
            connection = http.client.HTTPConnection(*server.server_address)
            connection.request("GET", "/")
            assert connection.getresponse().status == 501
            connection.close()
        assert time.monotonic() - begin < REQUEST_SECONDS
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
