"""Objects in memory, as readers of tables see a repository, and seeds that are parts of tables."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from fuzz.target import SEEDS

from anabranch.tables.live_rows.addresses import TablePlace

__all__ = ["PLACE", "MemoryObjects", "seed_of"]

PLACE = TablePlace("repo", "table/")
"""Where all tables are."""


class MemoryObjects:
    """Objects in memory, by their paths."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents

    def list(self, prefix: str) -> Iterator[str]:
        """Yields the paths that begin with a prefix."""
        return (path for path in sorted(self._contents) if path.startswith(prefix))

    def open(self, path: str) -> BinaryIO:
        """Returns an object's bytes."""
        if path not in self._contents:
            raise FileNotFoundError(path)
        return io.BytesIO(self._contents[path])

    def location(self, path: str) -> str:
        """Returns a name that nobody opens."""
        return path


def seed_of(target: str, name: str) -> bytes:
    """Returns a kept seed."""
    return (SEEDS / target / name).read_bytes()
