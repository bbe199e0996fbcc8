"""A client of the real server, and repositories to try things on."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import httpx2
import pytest

from anabranch.testing.server import Server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def api(server: Server) -> Iterator[httpx2.Client]:
    """A client of the API with the administrator's keys."""
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=30) as client:
        yield client


@pytest.fixture(scope="session")
def new_repository(api: httpx2.Client) -> Callable[[], str]:
    """Makes a repository and returns its name."""

    def make() -> str:
        name = f"repository-{next(_numbers)}"
        body = {"name": name, "storage_namespace": f"local://{name}"}
        assert api.post("/repositories", json=body).status_code == 201
        return name

    return make


@pytest.fixture
def repository(new_repository: Callable[[], str]) -> str:
    """The name of a fresh repository."""
    return new_repository()
