"""Each test runs on a lake in a folder, on one of a server, and on that of a server for asyncio."""

from __future__ import annotations

import itertools

import pytest

import anabranch
from anabranch.testing.server import running_server

from .lakes import WaitingLake

_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def lake_server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture(scope="package")
def folder_lake(tmp_path_factory):
    with anabranch.open(tmp_path_factory.mktemp("folder"), committer="tester") as lake:
        yield lake


@pytest.fixture(scope="package", params=["folder", "server", "asyncio"])
def lake(request):
    if request.param == "folder":
        yield request.getfixturevalue("folder_lake")
        return
    server = request.getfixturevalue("lake_server")
    connect = anabranch.connect if request.param == "server" else WaitingLake
    with connect(server.url, *server.auth) as lake:
        yield lake


@pytest.fixture
def sea(lake):
    """The name of a new repository."""
    name = f"sea-{next(_numbers)}"
    lake.repositories.create(name)
    return name
