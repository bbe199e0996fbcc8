"""A client of a running server, and new repositories."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import httpx2
import pytest

from anabranch.testing.server import Server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def api(server: Server) -> Iterator[httpx2.Client]:
    """A client of the API with the administrator's credentials."""
    with httpx2.Client(base_url=server.api, auth=server.auth, timeout=30) as client:
        yield client


@pytest.fixture(scope="session")
def new_repository(api: httpx2.Client) -> Callable[[], str]:
    """Creates a repository and returns its name."""

    def create() -> str:
        name = f"repository-{next(_numbers)}"
        body = {"name": name, "storage_namespace": f"local://{name}"}
        assert api.post("/repositories", json=body).status_code == 201
        return name

    return create


@pytest.fixture
def repository(new_repository: Callable[[], str]) -> str:
    """The name of a new repository."""
    return new_repository()
