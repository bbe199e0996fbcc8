"""Messages that are wrong: not JSON, not JSON-RPC, too long, of strangers, of other methods."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from contextlib import suppress

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.session.forked_python import forked_python

from anabranch.mcp.limits import MAX_BODY_BYTES, MAX_MESSAGE_BYTES
from anabranch.mcp.line_reader import LineReader
from anabranch.testing.server import running_server

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
WRONG = [
    (b"{", -32700),
    (b"\xff\xfe\n".strip(), -32700),
    (b"[" * 100_000, -32700),
    (b"null", -32600),
    (b"5", -32600),
    (b"{}", -32600),
    (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
    (b"[]", -32600),
]


class Process:
    """`anabranch mcp` as a process whose lines are written and read."""

    def __init__(self, folder):
        self._process = subprocess.Popen(
            [forked_python(), "-m", "anabranch", "mcp", "--data", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "HOME": "/nonexistent"},
        )
        self.pid = self._process.pid

    def send(self, line):
        content = line if isinstance(line, bytes) else json.dumps(line).encode()
        self._process.stdin.write(content + b"\n")
        self._process.stdin.flush()

    def receive(self):
        return json.loads(self._process.stdout.readline())

    def ask(self, line):
        self.send(line)
        return self.receive()

    def stop_reading(self):
        self._process.stdout.close()

    def end(self):
        """Returns the status, and what was printed after all that was received."""
        self._process.stdin.close()
        return self.wait()

    def wait(self):
        rest = b"" if self._process.stdout.closed else self._process.stdout.read()
        errors = self._process.stderr.read()
        status = self._process.wait(200)
        self.close()
        return status, rest, errors

    def close(self):
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(BrokenPipeError):
                file.close()


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    process = Process(tmp_path_factory.mktemp("lake"))
    assert process.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "anabranch"
    process.send(INITIALIZED)
    yield process
    process.close()


def test_lines_that_are_no_messages_are_refused_and_others_served(process):
    for line, code in WRONG:
        refused = process.ask(line)
        assert refused["id"] is None
        assert refused["error"]["code"] == code, line
        assert process.ask(PING) == {"jsonrpc": "2.0", "id": 7, "result": {}}
    process.send(b"")
    process.send(b"   ")
    assert process.ask(PING)["id"] == 7


def test_a_line_that_is_too_long_is_skipped(process):
    process.send(b'{"jsonrpc": "2.0", "id": 3, "method": "' + b"x" * MAX_MESSAGE_BYTES + b'"}')
    refused = process.receive()
    assert refused["id"] is None
    assert str(MAX_MESSAGE_BYTES) in refused["error"]["message"]
    assert process.ask(PING)["id"] == 7


def test_ten_megabytes_of_arguments_have_an_error_with_their_id(process):
    params = {"name": "query", "arguments": {"repository": "a", "sql": "x" * (10 << 20)}}
    result = process.ask({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params})
    assert result["id"] == 9
    assert result["result"]["isError"]
    assert "arguments_too_large" in result["result"]["content"][0]["text"]


def test_the_process_ends_with_its_input(tmp_path):
    process = Process(tmp_path)
    assert process.ask(INITIALIZE)["id"] == 1
    assert process.end() == (0, b"", b"")


def test_the_process_ends_when_it_is_interrupted(tmp_path):
    process = Process(tmp_path)
    assert process.ask(INITIALIZE)["id"] == 1
    os.kill(process.pid, signal.SIGINT)
    status, rest, errors = process.wait()
    assert (status, rest) == (130, b"")
    assert errors == b"interrupted\n"


def test_a_client_that_reads_no_more_is_no_error(tmp_path):
    process = Process(tmp_path)
    assert process.ask(INITIALIZE)["id"] == 1
    process.stop_reading()
    process.send(PING)
    assert process.end() == (0, b"", b"")


def lines_of(content, limit):
    read, write = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(write, content), os.close(write)))
    writer.start()
    reader = LineReader(read, limit)
    lines = list(iter(reader.read, None))
    writer.join()
    os.close(read)
    return lines


@given(st.lists(st.binary(max_size=30)), st.integers(1, 20), st.booleans())
def test_lines_are_read_up_to_their_limit(lines, limit, is_ended):
    lines = [line.replace(b"\n", b"") for line in lines]
    content = b"\n".join(lines) + (b"\n" if is_ended else b"")
    expected = content.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert lines_of(content, limit) == [line[: limit + 1] for line in expected]


def test_long_lines_are_skipped_without_being_held():
    content = b"a" * (1 << 15) + b"\nb\n" + b"c" * (1 << 14)
    assert lines_of(content, 100) == [b"a" * 101, b"b", b"c" * 101]


@pytest.fixture
def post(server):
    """Sends a message as the administrator, or with other headers."""
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

    def send(message, auth=server.auth, method="POST", **more):
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = {**headers, **{name.replace("_", "-"): value for name, value in more.items()}}
        return httpx2.request(
            method, f"{server.url}/mcp", content=content, headers=given, auth=auth, timeout=60
        )

    return send


def test_http_refuses_what_is_no_message(post):
    for body, _ in WRONG:
        response = post(body)
        assert response.status_code == 400, body
        assert response.json()["error"]["code"] in {-32700, -32600, -32602}
        assert response.json().get("id") is None
    assert post(PING).json() == {"jsonrpc": "2.0", "id": 7, "result": {}}
    assert post(INITIALIZED).status_code == 202


def test_http_refuses_long_bodies(post):
    response = post(b" " * (MAX_BODY_BYTES + 1))
    assert response.status_code == 413
    assert response.json()["error"]["data"]["kind"] == "body_too_large"
    assert post(b" " * (10 << 20)).status_code == 413


def test_http_has_no_other_methods(post):
    for method in ("GET", "DELETE", "PUT"):
        response = post(b"", method=method)
        assert response.status_code == 405
        assert response.headers["allow"] == "POST"


def test_http_needs_credentials(post, server):
    for auth, more in [
        (None, {}),
        ((server.access_key_id, "wrong"), {}),
        (None, {"authorization": "Bearer wrong"}),
        (None, {"authorization": "Digest something"}),
        (None, {"authorization": "Basic ====="}),
    ]:
        response = post(PING, auth=auth, **more)
        assert response.status_code == 401, more
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert response.json()["error"]["data"]["kind"] == "unauthenticated"


def test_wrong_secrets_are_throttled(post, new_user):
    reading = {"effect": "allow", "action": ["fs:ListRepositories"], "resource": "*"}
    pair = (new_user(reading)[0], "wrong")
    statuses = [post(PING, auth=pair).status_code for _ in range(30)]
    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert int(post(PING, auth=pair).headers["retry-after"]) > 0
    assert post(PING).status_code == 200


def test_cookies_do_not_authenticate_and_other_sites_are_refused(post, server):
    body = {"access_key_id": server.access_key_id, "secret_access_key": server.secret_access_key}
    login = httpx2.post(f"{server.api}/auth/login", json=body)
    cookie = login.headers["set-cookie"].partition(";")[0]
    own = server.url
    assert post(PING, auth=None, cookie=cookie, origin=own).status_code == 401
    refused = post(PING, origin="https://evil.example.com")
    assert refused.status_code == 403
    assert refused.json()["error"]["data"]["kind"] == "cross_site"
    assert post(PING, origin=own).status_code == 200


def test_http_can_be_turned_off(tmp_path):
    with running_server(tmp_path, env={"ANABRANCH_MCP_ENABLED": "false"}) as server:
        response = httpx2.post(f"{server.url}/mcp", json=PING, auth=server.auth, timeout=60)
        assert response.status_code in {404, 405}


def test_a_repository_of_this_name_takes_forms(server):
    form = {"key": (None, "a.txt"), "file": ("a.txt", b"1")}
    response = httpx2.post(f"{server.url}/mcp", files=form, timeout=60)
    assert response.headers["content-type"].startswith("application/xml")
