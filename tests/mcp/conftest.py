"""Clients of the SDK: over standard input and output of a process, and over HTTP to a server."""

from __future__ import annotations

import itertools
import json
import os
import re
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from support.session.forked_python import forked_python

from anabranch.testing.server import running_server

MARKED = re.compile(
    r"\A[^\n]*(?P<mark>[0-9a-f]{16})[^\n]*\n----- data (?P=mark) -----\n"
    r"(?P<data>[^\n]*)(?:\n(?P<text>.*))?\n----- end (?P=mark) -----\Z",
    re.DOTALL,
)
SECONDS = 200
_numbers = itertools.count(1)


class Called(NamedTuple):
    """What a call returned: its JSON, the text of an object, and the whole text."""

    data: Any
    text: str | None
    is_error: bool
    whole: str

    @property
    def error(self) -> Any:
        """The error of a call that failed."""
        assert self.is_error, self.whole
        return self.data["error"]


class Session:
    """A connected client of the SDK, used from this thread."""

    def __init__(self, portal, client):
        self._portal = portal
        self.client = client

    def ask(self, method, *arguments, **named):
        """Returns what a method of the client returns."""

        async def call():
            return await getattr(self.client, method)(*arguments, **named)

        return self._portal.call(call)

    def call(self, tool, **arguments):
        """Returns the parsed result of a tool."""
        result = self.ask("call_tool", tool, arguments)
        (content,) = result.content
        assert result.structured_content is None
        parts = MARKED.match(content.text)
        assert parts is not None, content.text
        return Called(json.loads(parts["data"]), parts["text"], bool(result.is_error), content.text)

    def results(self, tool, **arguments):
        """Returns the items of a listing that succeeds."""
        called = self.call(tool, **arguments)
        assert not called.is_error, called.whole
        return called.data["results"]


@contextmanager
def connected(transport, mode):
    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        client = Client(transport, mode=mode, read_timeout_seconds=SECONDS, cache=None)
        stack.enter_context(portal.wrap_async_context_manager(client))
        yield Session(portal, client)


@contextmanager
def over_stdio(*words, mode="auto", **environment):
    """A client of `anabranch mcp` as a process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANABRANCH_")}
    parameters = StdioServerParameters(
        command=forked_python(),
        args=["-m", "anabranch", "mcp", *words],
        env={**kept, "HOME": "/nonexistent", **environment},
    )
    with connected(stdio_client(parameters), mode) as session:
        yield session


@contextmanager
def over_http(server, pair, mode="auto"):
    """A client of a server, with a key pair or a token."""
    if isinstance(pair, str):
        http = httpx2.AsyncClient(headers={"authorization": f"Bearer {pair}"}, timeout=SECONDS)
    else:
        http = httpx2.AsyncClient(auth=httpx2.BasicAuth(*pair), timeout=SECONDS)
    transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
    with connected(transport, mode) as session:
        yield session


@pytest.fixture(scope="session")
def connect():
    """The ways to connect, by their names."""
    return {"stdio": over_stdio, "http": over_http}


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("lake")) as running:
        yield running


@pytest.fixture(scope="session")
def api(server):
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=60) as client:
        yield client


@pytest.fixture(scope="session")
def new_user(api):
    """Makes a user with a policy of these statements; returns the key pair."""

    def make(*statements):
        name = f"user-{next(_numbers)}"
        succeed(api.post("/auth/users", json={"id": name}))
        policy = {"id": f"Of{name}", "statement": list(statements)}
        succeed(api.post("/auth/policies", json=policy))
        succeed(api.put(f"/auth/users/{name}/policies/Of{name}"))
        pair = succeed(api.post(f"/auth/users/{name}/credentials")).json()
        return pair["access_key_id"], pair["secret_access_key"]

    return make


@pytest.fixture(scope="session")
def new_repository(api):
    """Makes a repository with these objects, committed on main; returns its name."""

    def make(objects=None, message="first"):
        name = f"sea-{next(_numbers)}"
        body = {"name": name, "storage_namespace": f"local://{name}"}
        succeed(api.post("/repositories", json=body))
        if objects:
            put(name, "main", objects, message)
        return name

    def put(name, branch, objects, message):
        place = f"/repositories/{name}/branches/{branch}"
        for path, content in objects.items():
            succeed(api.post(f"{place}/objects", params={"path": path}, content=content))
        return succeed(api.post(f"{place}/commits", json={"message": message})).json()["id"]

    make.put = put
    return make


def succeed(response):
    assert response.is_success, response.text
    return response
