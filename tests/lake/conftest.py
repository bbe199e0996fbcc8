"""Repositories of a lake in a folder, and of one on a server."""

from __future__ import annotations

import itertools

import pytest

import anabranch

_numbers = itertools.count(1)


@pytest.fixture(scope="module", params=["folder", "server"])
def lake(request, tmp_path_factory):
    if request.param == "folder":
        with anabranch.open(tmp_path_factory.mktemp("folder"), committer="tester") as lake:
            yield lake
        return
    server = request.getfixturevalue("server")
    with anabranch.connect(server.url, *server.auth) as lake:
        yield lake


@pytest.fixture
def sea(lake):
    """A new repository."""
    repository = lake.repository(f"handles-{next(_numbers)}")
    lake.repositories.create(repository.name)
    return repository


@pytest.fixture
def main(sea):
    return sea.branch("main")
