"""The check that a missing database was not lost.

A server creates its database at the first start. If the database was lost, an empty one in its
place would look like a new installation and hide that every repository is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from anabranch.errors import Corrupt

__all__ = ["require_database"]


def require_database(database: Path, witnesses: Iterable[Path]) -> None:
    """Raises Corrupt (kind database_missing) if a database is missing or empty although a file
    exists that is created after it: one of `witnesses`, or the database's own log.
    """
    if _size(database):
        return
    log = Path(f"{database}-wal")
    existing = [path for path in witnesses if path.exists()] + ([log] if _size(log) else [])
    if existing:
        state = "is empty" if database.exists() else "is missing"
        raise Corrupt(
            f"{database} {state}, but {existing[0]} exists: the database of this installation "
            "has been lost",
            path=str(database),
            kind="database_missing",
            hint="Restore it from a backup. For a new installation, choose another data folder, "
            "or move the files of the old one away.",
        )


def _size(path: Path) -> int:
    """Returns a file's size in bytes, 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
