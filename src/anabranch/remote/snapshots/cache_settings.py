"""Where snapshots keep the tables of commits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

__all__ = ["CACHE_BYTES", "CacheSettings", "cache_settings", "default_folder"]

CACHE_BYTES = 4 << 30


class CacheSettings(NamedTuple):
    """The folder of a cache, and how many bytes it has at most."""

    folder: str
    capacity_bytes: int = CACHE_BYTES


def cache_settings(
    folder: str | os.PathLike[str] | None = None, capacity_bytes: int = CACHE_BYTES
) -> CacheSettings:
    """Returns the settings of a folder, by default of that of the user's caches."""
    return CacheSettings(default_folder() if folder is None else os.fspath(folder), capacity_bytes)


def default_folder() -> str:
    """Returns the folder that `ANABRANCH_CACHE_FOLDER` names, else one in the user's caches."""
    given = os.environ.get("ANABRANCH_CACHE_FOLDER")
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return given or str(Path(caches, "anabranch", "tables"))
