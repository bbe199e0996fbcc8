"""The client of the REST interface against scripted sockets: pickling, timeouts, errors."""

from __future__ import annotations

import pickle
import socket
import threading

import pytest
from support.faults.scripted_socket import ScriptedSocket, answer

from anabranch.client.authorization import basic_authorization
from anabranch.client.rest_client import Request, RestClient, Timeouts
from anabranch.client.retry_policy import NO_RETRIES
from anabranch.errors import Busy, Invalid, NotFound, OutcomeUnknown

AUTHORIZATION = basic_authorization("key", "secret")


@pytest.fixture
def script():
    scripts = []

    def start(*answers: bytes) -> ScriptedSocket:
        scripts.append(ScriptedSocket(answers))
        return scripts[-1]

    yield start
    for each in scripts:
        each.close()


def single_attempt(url, **options):
    return RestClient(url, AUTHORIZATION, environment={}, retries=NO_RETRIES, **options)


def test_pickled_client_sends_the_same_requests_and_shows_no_secret(script, monkeypatch):
    server = script(answer("200 OK", b'{"a": 1}'), answer("503 Busy"))
    monkeypatch.setenv("no_proxy", "*")
    client = single_attempt(f"{server.url}/lake")
    copy = pickle.loads(pickle.dumps(client))  # noqa: S301  made here
    assert copy.get("x") == {"a": 1}
    assert server.requests[0].startswith(b"GET /lake/api/v1/x ")
    assert b"Authorization: Basic a2V5OnNlY3JldA==" in server.requests[0]
    with pytest.raises(Busy):
        copy.get("x")
    assert len(server.requests) == 2, "the copy has the retry policy, too"
    assert "secret" not in repr(vars(copy)).replace("Secret", "")


def test_unpickled_client_uses_the_proxy_of_its_own_environment(script, monkeypatch):
    proxy = script(answer("200 OK", b'{"a": 1}'))
    pickled = pickle.dumps(RestClient("http://lake.invalid", AUTHORIZATION, environment={}))
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert pickle.loads(pickled).get("x") == {"a": 1}  # noqa: S301  made here
    assert proxy.requests[0].startswith(b"GET http://lake.invalid/api/v1/x ")


def test_broken_connection_is_busy_for_reads_and_outcome_unknown_for_changes(script):
    client = single_attempt(script(b"", b"").url)
    with pytest.raises(Busy) as read:
        client.get("x")
    assert not isinstance(read.value, OutcomeUnknown)
    with pytest.raises(OutcomeUnknown):
        client.send("POST", "x", body={})


def test_change_that_was_not_sent_is_busy(script):
    server = script()
    server.close()
    with pytest.raises(Busy, match="refused") as caught:
        single_attempt(server.url).send("POST", "x", body={})
    assert not isinstance(caught.value, OutcomeUnknown)


def test_timeout_of_the_request_limits_a_change():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        client = single_attempt(url, timeouts=Timeouts(read=0.05, change=600, connect=None))
        with pytest.raises(OutcomeUnknown, match="timed out"):
            client.exchange(Request("POST", ("x",), timeout=0.05))
        with pytest.raises(Busy, match="timed out"):
            client.get("x")


def test_timeout_applies_to_a_reused_connection():
    received = threading.Event()

    def play(listener):
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            connection.recv(1 << 16)
            received.wait(60)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=play, args=(listener,))
        thread.start()
        client = single_attempt(f"http://127.0.0.1:{listener.getsockname()[1]}")
        assert client.get("x") == {}
        with pytest.raises(Busy, match="timed out"):
            client.exchange(Request("GET", ("x",), timeout=0.05))
        received.set()
        thread.join()


def test_client_without_keep_alive_opens_a_connection_for_each_request():
    heads = []

    def play(listener):
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                heads.append(connection.recv(1 << 16))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                assert connection.recv(1) == b"", "the client has closed it"

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=play, args=(listener,))
        thread.start()
        client = single_attempt(f"http://127.0.0.1:{listener.getsockname()[1]}", keep_alive=False)
        assert [client.get("x"), client.get("x")] == [{}, {}]
        thread.join()
    assert all(b"Connection: close" in head for head in heads)


def test_errors_come_from_the_tree_of_the_library(script):
    server = script(
        answer("404 Not Found", b'{"message": "no"}', "X-Anabranch-Kind: branch_not_found"),
        answer("200 OK", b"nonsense"),
    )
    client = single_attempt(server.url)
    with pytest.raises(NotFound, match=f"{server.url}: no") as missing:
        client.get("x")
    assert missing.value.kind == "branch_not_found"
    with pytest.raises(Invalid, match="lakeFS-compatible") as other:
        client.get("x")
    assert other.value.kind == "not_a_server"


def test_body_that_ends_early_is_busy(script):
    client = single_attempt(script(answer("200 OK", b"abc", length=10)).url)
    with pytest.raises(Busy), client.download("x") as content:
        list(content.chunks)


def test_names_with_a_percent_sign_are_quoted_twice(script):
    server = script(*[answer("200 OK")] * 3)
    client = single_attempt(server.url)
    for name in ("a b/c", "v%5E1", "ü"):
        client.get("x", name)
    targets = [request.split()[1] for request in server.requests]
    assert targets == [b"/api/v1/x/a%20b%2Fc", b"/api/v1/x/v%25255E1", b"/api/v1/x/%C3%BC"]


def test_a_change_that_may_have_been_made_is_not_sent_again(script):
    lost = answer("503 Busy", b"{}", "X-Anabranch-Kind: outcome_unknown")
    server = script(lost, lost, answer("200 OK", b'{"a": 1}'))
    client = RestClient(server.url, AUTHORIZATION, environment={}, sleep=lambda _: None)
    with pytest.raises(OutcomeUnknown):
        client.send("POST", "x", body={})
    assert len(server.requests) == 1
    assert client.request_json(Request("POST", ("x",), repeatable=True)) == {"a": 1}
