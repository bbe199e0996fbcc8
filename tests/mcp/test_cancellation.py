"""Calls whose caller has gone, or whose time is over, end on the server, too."""

from __future__ import annotations

import asyncio
import base64
import json
import socket

import anyio
import pytest

import anabranch
from anabranch.testing.server import running_server

ENDLESS = "SELECT count(*) FROM range(1000000000) a, range(1000000) b WHERE a.range % 7 = b.range"
QUICK = "SELECT 42"


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """A server that runs one query at once, for as long as ten minutes."""
    env = {"ANABRANCH_QUERIES_PROCESSES": "1", "ANABRANCH_QUERIES_TIMEOUT": "10m"}
    with running_server(tmp_path_factory.mktemp("narrow"), env=env) as server:
        with anabranch.connect(server.url, *server.auth) as lake:
            lake.repositories.create("sea")
        yield server


def environment(server):
    return {
        "ANABRANCH_SERVER": server.url,
        "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
        "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
    }


def answers(session):
    """Whether the one query process of the server is free, or becomes so."""
    for _ in range(200):
        called = session.call("query", repository="sea", sql=QUICK)
        if not called.is_error:
            return called.data["rows"] == [[42]]
    return False


@pytest.mark.slow
def test_a_call_whose_time_is_over_ends_on_the_server(connect, narrow):
    with connect["stdio"]("--timeout", "2", **environment(narrow)) as session:
        error = session.call("query", repository="sea", sql=ENDLESS).error
        assert error["kind"] == "call_timeout"
        assert answers(session)


@pytest.mark.slow
def test_a_cancelled_call_ends_on_the_server(connect, narrow):
    async def begin_and_cancel(client):
        arguments = {"repository": "sea", "sql": ENDLESS}
        with anyio.move_on_after(2) as scope:
            await client.call_tool("query", arguments)
        return scope.cancelled_caught

    with connect["stdio"](**environment(narrow)) as session:
        assert session._portal.call(begin_and_cancel, session.client)
        assert answers(session)


def test_a_call_whose_http_client_has_gone_ends(connect, narrow):
    pair = base64.b64encode(":".join(narrow.auth).encode()).decode()
    params = {"name": "query", "arguments": {"repository": "sea", "sql": ENDLESS}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: lake\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"Authorization: Basic {pair}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    host, _, port = narrow.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        connection.settimeout(2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    with connect["http"](narrow, narrow.auth) as session:
        assert answers(session)


@pytest.mark.slow
def test_several_calls_of_a_client_run_at_once(connect, narrow):
    async def both(client):
        async def query():
            with anyio.move_on_after(20):
                await client.call_tool("query", {"repository": "sea", "sql": ENDLESS})

        task = asyncio.ensure_future(query())
        listed = await client.call_tool("list_repositories", {})
        task.cancel()
        return listed

    with connect["stdio"](**environment(narrow)) as session:
        assert not session._portal.call(both, session.client).is_error
        assert answers(session)
