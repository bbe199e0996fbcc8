"""File systems of a lake in a folder and on a server."""

from __future__ import annotations

import itertools

import pytest

from anabranch.fsspec import AnabranchFileSystem
from anabranch.testing.server import running_server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def lake_server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("served")) as running:
        yield running


@pytest.fixture(scope="session")
def file_systems(tmp_path_factory, lake_server):
    """A file system of each kind."""
    cache = tmp_path_factory.mktemp("cache")
    pair = dict(zip(("access_key_id", "secret_access_key"), lake_server.auth, strict=True))
    return {
        "folder": AnabranchFileSystem(folder=tmp_path_factory.mktemp("folder"), committer="me"),
        "server": AnabranchFileSystem(server=lake_server.url, **pair, cache_folder=cache),
    }


@pytest.fixture(params=["folder", "server"])
def fs(request, file_systems):
    return file_systems[request.param]


@pytest.fixture
def sea(fs):
    """The name of a new repository."""
    name = f"sea-{next(_numbers)}"
    fs.lake.repositories.create(name)
    return name
