"""Fixtures of servers over each combination of stores, shared by all tests that ask for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch.testing.server import Server, running_server
from support.session.service_fixtures import new_database

if TYPE_CHECKING:
    from support.services.postgres import Cluster
    from support.services.s3_service import S3Service


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest) -> Server:
    """A real server, shared by all tests that ask for it: over a folder of its own, or, for tests
    that run more than once, over a database of PostgreSQL's, and over that and a bucket.
    """
    found: Server = request.getfixturevalue(f"{getattr(request, 'param', 'sqlite')}_server")
    return found


@pytest.fixture(scope="session")
def sqlite_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over a folder."""
    with running_server(tmp_path_factory.mktemp("lake")) as running:
        yield running


@pytest.fixture(scope="session")
def presigning_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server over a folder that gives presigned URLs."""
    env = {"ANABRANCH_BLOCKSTORE_LOCAL_PRE_SIGNED": "true"}
    with running_server(tmp_path_factory.mktemp("lake"), env=env) as running:
        yield running


@pytest.fixture(scope="session")
def postgres_server(
    postgres_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server over a database."""
    database = new_database(postgres_cluster)
    with running_server(tmp_path_factory.mktemp("lake"), database=database) as running:
        yield running


@pytest.fixture(scope="session")
def cluster_server(
    postgres_cluster: Cluster, s3_service: S3Service, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server over a database and a bucket."""
    s3_service.make_bucket("clients")
    database, folder = new_database(postgres_cluster), tmp_path_factory.mktemp("lake")
    env = {**s3_service.settings, "ANABRANCH_IMAGES_STORAGE_NAMESPACE": "s3://clients/image"}
    with running_server(folder, database=database, env=env) as running:
        yield running._replace(storage="s3://clients/")


@pytest.fixture(scope="module")
def import_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the server `importing` may import from."""
    return tmp_path_factory.mktemp("outside")


@pytest.fixture(scope="module")
def importing(import_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that may import."""
    settings = {
        "ANABRANCH_BLOCKSTORE_LOCAL_IMPORT_ENABLED": "true",
        "ANABRANCH_BLOCKSTORE_LOCAL_ALLOWED_EXTERNAL_PREFIXES": str(import_folder),
    }
    with running_server(tmp_path_factory.mktemp("lake"), env=settings) as server:
        yield server
