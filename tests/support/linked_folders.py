"""Folders that `anabranch local` links: their files, and the branches beside them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from anabranch.cli.client.connection import Connection
from anabranch.cli.client.settings import resolve

__all__ = ["LINK", "branches", "contents", "write"]

LINK = ".lakefs_ref.yaml"


def write(file: Path, text: str) -> None:
    """Writes a file as an editor does that comes back much later."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (2_000_000_000, 2_000_000_000))


def contents(folder: Path) -> dict[str, str]:
    """Returns the texts of all files but the link."""
    return {
        file.relative_to(folder).as_posix(): file.read_text()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != LINK
    }


def branches(lake: Any) -> list[str]:
    """Returns the names of all branches, hidden ones too."""
    connection = Connection(resolve(os.environ), os.environ)
    pages = connection.pages("repositories", lake.name, "branches", show_hidden=True)
    names = [item["id"] for item in pages]
    connection.close()
    return names
