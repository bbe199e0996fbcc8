"""The doctor reads the metrics of a running server, and says what is wrong in words."""

from __future__ import annotations

import contextlib
import http.server
import json
import subprocess
import threading
from urllib.parse import urlsplit

import pytest
from support.session.forked_python import forked_python

from anabranch.server.config.settings import Address
from anabranch.server.doctor.address import check_address
from anabranch.server.doctor.check_result import State
from anabranch.server.doctor.running_server import check_running_server
from anabranch.testing.server import running_server

HEALTHY = """
api_request_duration_seconds_bucket{code="200",le="10.0",operation="getBranch"} 1000
api_request_duration_seconds_bucket{code="200",le="+Inf",operation="getBranch"} 1000
api_request_duration_seconds_count{code="200",operation="getBranch"} 1000
api_request_duration_seconds_count{code="500",operation="getBranch"} 1
anabranch_calls_refused_total{pool="call"} 0
anabranch_connections_ended_total{reason="no_request"} 7
anabranch_store_requests_total{store="s3"} 1000
anabranch_store_requests_total{store="postgres"} 50
anabranch_store_retries_total{store="postgres",reason="conflict"} 0
process_open_fds 100
process_max_fds 1024
"""

SICK = {
    'gateway_request_duration_seconds_count{code="503",operation="PutObject"} 20': (
        "21 of 1021 requests failed; PutObject (503): 20, getBranch (500): 1"
    ),
    'api_request_duration_seconds_bucket{code="200",le="10.0",operation="commit"} 5\n'
    'api_request_duration_seconds_bucket{code="200",le="+Inf",operation="commit"} 25': (
        "20 of 1025 requests took more than 10 seconds; commit: 20, getBranch: 0"
    ),
    'anabranch_calls_refused_total{pool="transfer"} 3': (
        "3 requests were refused: too many waited (pool transfer)"
    ),
    'anabranch_calls_waiting{pool="call"} 40': "40 requests wait for a thread (pool call)",
    'anabranch_connections_ended_total{reason="address_limit"} 9': (
        "9 connections were refused (address_limit)"
    ),
    'anabranch_store_retries_total{store="s3",reason="throttled"} 40\n'
    'anabranch_store_retries_total{store="s3",reason="failed"} 2': (
        "42 retries of 1000 requests to s3; throttled: 40, failed: 2"
    ),
    'anabranch_store_retries_total{store="postgres",reason="connection_lost"} 11': (
        "11 retries of 50 requests to postgres; connection_lost: 11"
    ),
    "process_open_fds 800": "the process has 900 of at most 1024 files open",
}


@contextlib.contextmanager
def answering(metrics, health="alive!"):
    """Answers as a server with these metrics would; yields its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = (health if self.path == "/_health" else metrics).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield Address("127.0.0.1", server.server_address[1])
        server.shutdown()


def test_metrics_without_trouble_are_sound():
    with answering(HEALTHY) as address:
        (result,) = check_address(address)
    assert result.state is State.SOUND
    assert result.message == f"one answers at {address}, and its metrics show no trouble"


@pytest.mark.parametrize("line", SICK)
def test_each_trouble_is_said_in_words(line):
    with answering(HEALTHY + line + "\n") as address:
        (result,) = check_address(address)
    assert (result.state, result.message) == (State.DOUBTFUL, SICK[line])
    assert result.hint


@pytest.mark.parametrize(
    ("metrics", "health"), [("", "alive!"), ("x 1", "alive!"), (HEALTHY, "ok"), ("{", "alive!")]
)
def test_another_program_is_not_taken_for_a_server(metrics, health):
    with answering(metrics, health) as address:
        assert check_running_server(address) is None


def test_the_command_reads_a_server_by_its_address(tmp_path):
    with running_server(tmp_path) as server:
        address = urlsplit(server.url).netloc
        command = [forked_python(), "-m", "anabranch", "doctor", "--json"]
        result = subprocess.run(
            [*command, "--data", str(tmp_path), "--listen", address],
            capture_output=True,
            check=False,
            timeout=200,
        )
        found = {each["about"]: each for each in json.loads(result.stdout)}
        assert found["server"]["state"] == "sound"
        assert address in found["server"]["message"]
