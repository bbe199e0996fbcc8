"""Tables, and a remote store that counts requests for them."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from pathlib import Path

import pytest

from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.memory import MemoryBlocks
from anabranch.testing.stores import FaultyBlocks

NAMESPACE = "mem://space"


BIG = 1 << 30


def table(number: int, size: int = 1_000) -> tuple[str, bytes]:
    """Returns a table's id and bytes; here the id is the digest of all bytes."""
    body = number.to_bytes(4, "big") * (size // 4)
    return hashlib.sha256(body).hexdigest(), body


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


class CountingStore:
    """A remote store that counts its calls, with a cache."""

    def __init__(self, folder: Path, capacity: int = BIG, grace: float = 0.0) -> None:
        self.calls: Counter[str] = Counter()
        self.delay = 0.0
        self.blocks = MemoryBlocks()
        self.faulty = FaultyBlocks(self.blocks, self.count)
        self.cache = TableCache(self.faulty, folder, capacity, verify=digest, grace_seconds=grace)

    def count(self, step: str, _address: str) -> None:
        self.calls[step] += 1
        if step == "get":
            time.sleep(self.delay)

    def add(self, number: int, size: int = 1_000, namespace: str = NAMESPACE) -> str:
        table_id, body = table(number, size)
        self.blocks.put(f"{namespace}/_lakefs/{table_id}", [body])
        return table_id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def remote(folder: Path) -> CountingStore:
    return CountingStore(folder)
