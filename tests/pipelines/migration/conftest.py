"""A database that lakeFS wrote, loaded into memory, where tests can change and damage it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from support.services.recorded_lakefs import ENCRYPT_KEY, recorded_rows, unpack_blocks

from anabranch.blocks.local.reader import LocalReader
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.keyvalue.memory import MemoryStore
from anabranch.model.secret import Secret
from anabranch.pipelines.migration.migration import Destination, Migration

TARGET_KEY = Secret("the-target's-key")

Rows = dict[tuple[str, bytes], bytes]


class Source:
    """A lakeFS database of rows in memory."""

    name = "memory"

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.rows: Rows = {}
        self.clients: list[str] = []

    def put(self, partition: str, key: bytes, value: bytes | None) -> None:
        self.store.apply([Write(partition, key, value)])
        self.rows.pop((partition, key), None)
        if value is not None:
            self.rows[partition, key] = value

    def get(self, partition: str, key: bytes) -> bytes | None:
        return self.store.get(partition, key)

    def scan(
        self,
        partition: str,
        start: bytes = b"",
        end: bytes | None = None,
        *,
        limit: int | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        return self.store.scan(partition, start, end, limit=limit)

    def partitions(self) -> Iterable[tuple[bytes, int]]:
        names = sorted({partition for partition, _ in self.rows})
        return [
            (name.encode(), sum(partition == name for partition, _ in self.rows)) for name in names
        ]

    def active_clients(self) -> list[str]:
        return self.clients

    def find_partition(self, repository: str) -> str:
        """Returns the partition of a repository's references."""
        return next(name for name, _ in self.rows if name.startswith(f"{repository}-dc"))

    def key(self, partition: str, prefix: bytes) -> bytes:
        """Returns the first key of a partition with this prefix."""
        return next(key for name, key in self.rows if name == partition and key.startswith(prefix))


@pytest.fixture
def source() -> Source:
    source = Source()
    for row in recorded_rows():
        source.put(*row)
    return source


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_blocks(tmp_path_factory.mktemp("block"))


@pytest.fixture
def target() -> MemoryStore:
    return MemoryStore()


Migrate = Callable[..., Migration]


@pytest.fixture
def migrate(source: Source, target: MemoryStore, folder: Path) -> Migrate:
    """Returns a function that surveys a migration of the source to the target."""

    def migrate(
        to: KeyValueStore = target,
        *,
        secret: str = ENCRYPT_KEY,
        key: Secret | None = TARGET_KEY,
        in_place: bool = False,
        names: Iterable[str] = (),
        blocks: Path = folder,
        kind: str = "local",
    ) -> Migration:
        migration = Migration(
            source,
            Destination(to, LocalReader(blocks), kind, key, in_place),
            secret=Secret(secret) if secret else None,
            names=frozenset(names),
        )
        migration.survey()
        return migration

    return migrate


def content(store: KeyValueStore, source: Source) -> Rows:
    """Returns all rows of a store in the partitions of the source, and of Anabranch."""
    partitions = {name for name, _ in source.rows} | {"anabranch"}
    return {(name, key): value for name in partitions for key, value in store.scan(name)}
