"""A port that nothing listens on, and a repository of a server."""

from __future__ import annotations

import itertools
import socket

import pytest

import anabranch

_numbers = itertools.count(1)


@pytest.fixture
def unused_tcp_port():
    """A port that is bound, so that no other process listens there, but not listened on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def lake(server):
    with anabranch.connect(server.url, *server.auth) as lake:
        yield lake


@pytest.fixture
def sea(lake):
    """The name of a new repository."""
    name = f"remote-{next(_numbers)}"
    lake.repositories.create(name)
    return name
