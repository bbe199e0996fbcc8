"""Fixtures: a lake with a repository, one with dead objects, and a repository of the shared
server.
"""

from __future__ import annotations

import uuid

import lakefs
import pytest
from lakefs.client import Client
from support.quarantine import QuarantineScenario

import anabranch
from anabranch.blocks.local.store import LocalBlocks


@pytest.fixture
def lake(tmp_path):
    """A lake with the repository `sea`."""
    with anabranch.open(tmp_path / "lake") as lake:
        lake.repositories.create("sea", "local://sea")
        yield lake


@pytest.fixture
def local_scenario(tmp_path):
    """Creates a `QuarantineScenario` in a local folder."""

    def make():
        return QuarantineScenario(
            tmp_path / "sea", LocalBlocks(tmp_path / "sea/blocks"), "local://sea"
        )

    return make


@pytest.fixture
def repository(server):
    """A repository with two commits on main, as an object of the package `lakefs`."""
    user, secret = server.auth
    name = f"repository-{uuid.uuid4().hex}"
    client = Client(host=server.url, username=user, password=secret)
    repository = lakefs.Repository(name, client=client).create(f"local://{name}")
    main = repository.branch("main")
    for paths in (["a/1", "ä"], ["a/2", "ä"]):
        for path in paths:
            main.object(path).upload(b"content of " + paths[0].encode(), content_type="text/plain")
        main.commit("More")
    return repository
