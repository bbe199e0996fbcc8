"""Each test runs on a lake in a folder, on one of a server, and on that of a server for asyncio;
among the tests of services, also on that of a server over PostgreSQL.
"""

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


@pytest.fixture(
    scope="package",
    params=[
        *("folder", "server", "asyncio"),
        pytest.param("server-postgres", marks=pytest.mark.systems),
        # each of its halves is among those above
        pytest.param("asyncio-postgres", marks=[pytest.mark.systems, pytest.mark.slow]),
    ],
)
def lake(request):
    if request.param == "folder":
        yield request.getfixturevalue("folder_lake")
        return
    kind, _, database = request.param.partition("-")
    server = request.getfixturevalue("postgres_server" if database else "lake_server")
    connect = anabranch.connect if kind == "server" else WaitingLake
    with connect(server.url, *server.auth) as lake:
        yield lake


@pytest.fixture
def sea(lake):
    """The name of a new repository."""
    name = f"sea-{next(_numbers)}"
    lake.repositories.create(name)
    return name
