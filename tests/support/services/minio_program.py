"""Where the MinIO is that `make minio` builds; light, as every run of the tests asks for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def minio_program(version: str, environment: Mapping[str, str]) -> Path | None:
    """Returns the program that `make minio` has built of a version, or None."""
    home = Path(environment.get("HOME") or "/")
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    program = cache / "anabranch" / "bin" / f"minio-{version}"
    return program if os.access(program, os.X_OK) else None
