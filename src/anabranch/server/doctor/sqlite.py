"""The database in a folder: one of ours, whole, and not locked."""

from __future__ import annotations

from pathlib import Path

import apsw

from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.library import DATABASE_FILE
from anabranch.server.doctor.check_result import CheckResult, State, collected

__all__ = ["check_sqlite"]

ABOUT = "database"


def check_sqlite(folder: Path) -> list[CheckResult]:
    """Opens the database, if it is there, and lets SQLite look through its pages."""
    path = folder / DATABASE_FILE
    if not path.exists():
        return [
            CheckResult(ABOUT, State.SOUND, f"{path} is not there yet: the server will make it")
        ]
    findings: list[CheckResult] = []
    with collected(ABOUT, findings):
        SQLiteStore(path).close()
        findings += _check_pages(path)
    return findings


def _check_pages(path: Path) -> list[CheckResult]:
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
        finally:
            connection.close()
    except apsw.Error as error:
        found = [str(error)]
    if found == ["ok"]:
        return [CheckResult(ABOUT, State.SOUND, f"{path} is whole")]
    message = f"{path} is damaged: {'; '.join(found)}"
    return [CheckResult(ABOUT, State.WRONG, message, "Restore it from a backup.")]
