"""Where the catalog reads and writes: a repository at a reference."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Place"]


class Place(NamedTuple):
    """A repository and a reference of it: a branch, or anything that is read only."""

    repository: str
    reference: str
