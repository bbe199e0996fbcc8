"""Lakes for tests, over stores in a folder or in memory, and a clock that tests control."""

from __future__ import annotations

import os
from pathlib import Path

from anabranch.blocks.local.store import LocalBlocks
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake, open_lake

__all__ = ["Clock", "lake_in", "lake_of"]


class Clock:
    """A clock that only the test advances, in seconds since 1970."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        """Returns the time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Advances the clock."""
        self.now += seconds


def lake_in(
    folder: str | os.PathLike[str], clock: Clock, keyvalue: KeyValueStore | None = None
) -> Lake:
    """Returns a lake with its objects and tables in `folder`, and by default its references in
    memory.
    """
    return Lake(
        MemoryStore() if keyvalue is None else keyvalue,
        LocalBlocks(Path(folder) / "blocks", clock=clock),
        cache_folder=Path(folder) / "cache",
        signing_secret=b"a secret of tests",
        clock=clock,
    )


def lake_of(folder: str | os.PathLike[str], database: str = "") -> Lake:
    """Opens the lake of a server with data in `folder` and, if named, in a PostgreSQL database."""
    if not database:
        return open_lake(folder)
    from anabranch.keyvalue.postgres.store import PostgresStore  # noqa: PLC0415  an extra

    root = Path(folder)
    return Lake(
        PostgresStore(database, max_open_connections=2),
        LocalBlocks(root / "block"),
        cache_folder=root / "cache",
        signing_secret=b"a secret of tests",
    )
