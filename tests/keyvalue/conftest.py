"""The stores under test; the contract suite runs on each of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from simulation.folder import FolderStore
from simulation.postgres import Database, open_store
from support.services.postgres import Cluster, clear

from anabranch.keyvalue.caching.prefetch import PrefetchedReads
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.memory import MemoryStore
from anabranch.keyvalue.postgres.database import PostgresDatabase
from anabranch.keyvalue.postgres.store import PostgresStore
from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.testing.stores import FaultyStore


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "metadata.db"


@pytest.fixture
def sqlite(database: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(database)
    yield store
    store.close()


@pytest.fixture(scope="session")
def migrated(postgres_cluster: Cluster) -> str:
    """The connection string of a database that has its tables."""
    url = postgres_cluster.url(postgres_cluster.make_database())
    PostgresDatabase(url).migrate()
    return url


@pytest.fixture
def empty(migrated: str) -> str:
    """The connection string of a database without keys."""
    clear(migrated)
    return migrated


@pytest.fixture
def postgres(empty: str) -> Iterator[PostgresStore]:
    store = PostgresStore(empty)
    yield store
    store.close()


@pytest.fixture
def prefetched(postgres: PostgresStore) -> PrefetchedReads:
    return PrefetchedReads(postgres)


@pytest.fixture(
    params=[
        "memory",
        "faulty",
        "modelled folder",
        "modelled postgres",
        "sqlite",
        "postgres",
        "prefetched",
    ]
)
def store(request: pytest.FixtureRequest) -> KeyValueStore:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "modelled folder":  # what stands for SQLite in simulations
        return FolderStore()
    if request.param == "modelled postgres":
        return open_store(Database())
    if request.param == "faulty":
        return FaultyStore(MemoryStore(), lambda _step, _partition: None)
    return request.getfixturevalue(request.param)
