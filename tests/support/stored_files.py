"""The files of a server's local block store, but for its journals, which come and go with it."""

from __future__ import annotations

from pathlib import Path

from anabranch.blocks.local.journal.segment import parse_identity

__all__ = ["open_stored_files", "stored_files"]


def stored_files(folder: Path) -> set[Path]:
    """Returns every file of the block store in a folder."""
    return {path for path in folder.rglob("*") if path.is_file() and not parse_identity(path.name)}


def open_stored_files(process: int, folder: Path) -> list[str]:
    """Returns the names of the files of the block store that a process has open."""
    names = []
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            names.append(str(link.readlink()))
        except OSError:
            continue
    return [name for name in names if name.startswith(str(folder)) and not parse_identity(name)]
