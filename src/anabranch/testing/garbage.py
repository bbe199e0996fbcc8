"""For tests of garbage collection: a lake in memory, and what is in its store and in candidates."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from anabranch.blocks.memory import MemoryBlocks
from anabranch.keyvalue.memory import MemoryStore
from anabranch.library import Lake
from anabranch.testing.lake import Clock

__all__ = ["DAY", "addresses", "memory_lake", "stored"]

DAY = 86_400


def memory_lake(folder: str | os.PathLike[str], clock: Clock) -> Lake:
    """Returns a lake in memory whose objects are as old as the clock says; only its cache lies in
    a folder.
    """
    return Lake(
        MemoryStore(),
        MemoryBlocks(clock=clock),
        cache_folder=Path(folder) / "cache",
        signing_secret=b"a secret of tests",
        clock=clock,
    )


def addresses(batches: Iterable[pa.RecordBatch]) -> set[str]:
    """Returns the addresses of candidates or of a listing."""
    return {name for batch in batches for name in batch.column("address").to_pylist()}


def stored(lake: Lake, namespace: str) -> set[str]:
    """Returns what a store holds in a namespace, by relative address."""
    stem = f"{namespace}/"
    return {block.address.removeprefix(stem) for block in lake.blocks.list(stem)}
