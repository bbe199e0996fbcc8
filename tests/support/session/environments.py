"""What make installs outside of the checkout: programs, and Python environments."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

__all__ = ["cache_folder", "environment"]


def cache_folder(name: str) -> Path:
    """Returns a folder of what make installs once for all checkouts; it may not be there."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(caches, "anabranch", name)


def environment(name: str, word: str) -> Path:
    """Returns the folder of an environment; skips the test if `make` has not installed it yet."""
    folder = cache_folder(name)
    if not (folder / ".installed").exists():
        pytest.skip(f"{folder.name} is not installed: `make {word}` does that")
    return folder
