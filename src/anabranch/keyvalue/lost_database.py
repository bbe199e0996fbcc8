"""The check that a database which is not there never was.

A server makes its database at the first start. Where one is lost, an empty one in its place would
look like a new installation and hide that every repository is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anabranch.errors import Corrupt

__all__ = ["require_database"]


def require_database(database: Path, witnesses: Iterable[Path]) -> None:
    """Raises Corrupt (kind database_missing) if a database is missing or empty although files are
    there that are made after it: `witnesses`, or its own log.
    """
    if _size(database):
        return
    log = Path(f"{database}-wal")
    found = [path for path in witnesses if path.exists()] + ([log] if _size(log) else [])
    if found:
        state = "is empty" if database.exists() else "is missing"
        raise Corrupt(
            f"{database} {state}, but {found[0]} is there: the database of this installation is "
            "lost",
            path=str(database),
            kind="database_missing",
            hint="Restore it from a backup. For a new installation, choose another data folder, "
            "or move the files of the old one away.",
        )


def _size(path: Path) -> int:
    """Returns a file's size in bytes, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
