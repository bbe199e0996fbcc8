"""A lake with uploads in progress, which tests stop at any step."""

from __future__ import annotations

import pytest

from anabranch.blocks.memory import MemoryBlocks
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.testing.stores import FaultyBlocks, FaultyStore
from anabranch.versioning.records import keys

HOUR = 3600


class World:
    """Two stores that outlive the lakes over them, and what happens before their steps."""

    def __init__(self, folder, clock):
        self.folder = folder
        self.clock = clock
        self.keyvalue, self.blocks = MemoryStore(), MemoryBlocks(clock=clock)
        self.open().repositories.create("sea", "mem://sea")

    def open(self, before=lambda _step, _subject: None):
        return Lake(
            FaultyStore(self.keyvalue, before),
            FaultyBlocks(self.blocks, before),
            cache_folder=self.folder / "cache",
            signing_secret=b"",
            clock=self.clock,
        )

    def data(self):
        return list(self.blocks.list("mem://sea/data/"))

    def left(self):
        """Returns what is kept of uploads anywhere."""
        repository = self.open().repositories.get("sea")
        found = [
            *self.keyvalue.scan(keys.UPLOADS),
            *self.keyvalue.scan(keys.FINISHED_UPLOADS),
            *self.keyvalue.scan(repository.partition, *keys.all_uploads()),
            *self.blocks._uploads._uploads,
        ]
        parts = [name for name in self.keyvalue._partitions if name.startswith("multiparts-parts")]
        return [*found, *(name for name in parts if list(self.keyvalue.scan(name)))]

    def clean(self):
        self.clock.advance(HOUR + 1)
        self.open().uploads.clean()


@pytest.fixture
def world(tmp_path, clock):
    return World(tmp_path, clock)
