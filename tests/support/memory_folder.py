"""The folder in memory in which tests without a question of durability keep what they write."""

from __future__ import annotations

from pathlib import Path

__all__ = ["MEMORY_FOLDER"]

_SHARED_MEMORY = Path("/dev/shm")

MEMORY_FOLDER = str(_SHARED_MEMORY) if _SHARED_MEMORY.is_dir() else None
"""The `dir` of `tempfile.TemporaryDirectory`; None, the ordinary one, where Linux's is missing."""
