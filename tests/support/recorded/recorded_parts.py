"""A repository of a real lakeFS 1.84.0 with objects that it received in parts.

`tests/data/lakefs-1.84-parts/README.md` describes the files.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

from support.recorded.recorded_installation import read_dump

__all__ = ["DUMP", "MANIFEST", "unpack"]

_DATA = Path(__file__).parents[2] / "data" / "lakefs-1.84-parts"

DUMP = read_dump(_DATA / "refs-dump.json")
MANIFEST: dict[str, Any] = json.loads((_DATA / "manifest.json").read_text(encoding="utf-8"))


def unpack(blocks: Path) -> Path:
    """Unpacks the storage namespace `local://parts` into a folder of blocks. Returns its folder."""
    with tarfile.open(_DATA / "namespace.tar.gz") as archive:
        archive.extractall(blocks, filter="data")
    return blocks / "parts"
