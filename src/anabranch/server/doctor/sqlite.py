"""Check that the SQLite database is Anabranch's, undamaged and not locked."""

from __future__ import annotations

from pathlib import Path

import apsw

from anabranch.keyvalue.sqlite.store import SQLiteStore
from anabranch.library import DATABASE_FILE
from anabranch.server.doctor.check_result import CheckResult, State, errors_collected

__all__ = ["check_sqlite"]

ABOUT = "database"


def check_sqlite(folder: Path) -> list[CheckResult]:
    """Opens the database if it exists, and runs SQLite's `quick_check`."""
    path = folder / DATABASE_FILE
    if not path.exists():
        return [
            CheckResult(ABOUT, State.SOUND, f"{path} does not exist yet: the server will create it")
        ]
    results: list[CheckResult] = []
    with errors_collected(ABOUT, results):
        SQLiteStore(path).close()
        results += _check_pages(path)
    return results


def _check_pages(path: Path) -> list[CheckResult]:
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            reports = [str(row[0]) for row in connection.execute("PRAGMA quick_check(3)")]
        finally:
            connection.close()
    except apsw.Error as error:
        reports = [str(error)]
    if reports == ["ok"]:
        return [CheckResult(ABOUT, State.SOUND, f"{path} is not damaged")]
    message = f"{path} is damaged: {'; '.join(reports)}"
    return [CheckResult(ABOUT, State.WRONG, message, "Restore it from a backup.")]
