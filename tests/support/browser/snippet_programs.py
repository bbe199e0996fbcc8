"""Where the programs of snippets run: with a home of their own, and a user's keys."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from anabranch.testing.server import Server

__all__ = ["snippet_environment"]

_EXTENSIONS = ("httpfs", "avro", "iceberg")


def snippet_environment(server: Server, home: Path) -> dict[str, str]:
    """Returns the variables that hold the keys, of a home whose DuckDB has its extensions."""
    platform = subprocess.run(
        [sys.executable, "-c", "import duckdb; print(*duckdb.sql('PRAGMA platform').fetchone())"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    for name in _EXTENSIONS:
        folder = Path(str(files(f"duckdb_extension_{name}")))
        (extension,) = folder.glob(f"extensions/*/{name}.duckdb_extension")
        place = home / ".duckdb/extensions" / extension.parent.name / platform
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(extension, place)
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "ANABRANCH_ACCESS_KEY_ID": server.access_key_id,
        "ANABRANCH_SECRET_ACCESS_KEY": server.secret_access_key,
    }
