"""Messages that are wrong: not JSON, not JSON-RPC, too long, of strangers, of other methods."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import httpx2
import pytest

from anabranch.mcp.limits import MAX_BODY_BYTES, MAX_MESSAGE_BYTES

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
            [sys.executable, "-m", "anabranch", "mcp", "--data", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "HOME": "/nonexistent"},
        )

    def send(self, line):
        content = line if isinstance(line, bytes) else json.dumps(line).encode()
        self._process.stdin.write(content + b"\n")
        self._process.stdin.flush()

    def receive(self):
        return json.loads(self._process.stdout.readline())

    def ask(self, line):
        self.send(line)
        return self.receive()

    def end(self):
        self._process.stdin.close()
        rest = self._process.stdout.read()
        return self._process.wait(200), rest


@pytest.fixture
def process(tmp_path):
    process = Process(tmp_path)
    assert process.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "anabranch"
    process.send(INITIALIZED)
    yield process
    process._process.kill()
    process._process.wait()
    process._process.stdout.close()


def test_lines_that_are_no_messages_are_refused_and_others_served(process):
    for line, code in WRONG:
        refused = process.ask(line)
        assert refused["id"] is None
        assert refused["error"]["code"] == code, line
        assert process.ask(PING) == {"jsonrpc": "2.0", "id": 7, "result": {}}
    process.send(b"")
    process.send(b"   ")
    assert process.ask(PING)["id"] == 7
    assert process.end() == (0, b"")


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


def test_the_process_ends_with_its_input(process):
    assert process.end() == (0, b"")


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
    from anabranch.testing.server import running_server

    with running_server(tmp_path, env={"ANABRANCH_MCP_ENABLED": "false"}) as server:
        response = httpx2.post(f"{server.url}/mcp", json=PING, auth=server.auth, timeout=60)
        assert response.status_code in {404, 405}
