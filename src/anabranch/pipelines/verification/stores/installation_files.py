"""The checks of files beside the stores: SQLite's own file, the journals of a local store, the
audit log.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from anabranch.audit.file import with_older_files
from anabranch.audit.verification import verify
from anabranch.blocks.local.journal.inspection import inspect_journals
from anabranch.keyvalue.sqlite.snapshot import integrity_problems
from anabranch.pipelines.verification.findings import Finding

__all__ = ["check_audit_log", "check_database_file", "check_journals"]

_LOOKS = 3
_RECENT_LINES = 3
_SHOWN_BYTES = 200


def check_database_file(path: Path) -> Iterator[Finding]:
    """Yields what SQLite finds wrong with its file."""
    for problem in integrity_problems(path):
        yield Finding("database", "database_damaged", str(path), problem)


def check_journals(root: Path) -> Iterator[Finding]:
    """Yields damaged records in the journals of a local store. Raises OSError."""
    for damage in inspect_journals(str(root)):
        block = damage.block or "a block whose name cannot be read"
        state = "its recovery has lost" if damage.kept else "a crash would lose"
        yield Finding(
            *("journal", "journal_damaged", f"{damage.segment} at byte {damage.position}"),
            f"a record is damaged: {state} {block}",
        )


def check_audit_log(path: Path) -> Iterator[Finding]:
    """Yields where the chain of the audit log is broken. Files are renamed and lines are added
    meanwhile, so a problem counts if it is found in several looks. Raises OSError.
    """
    found = _problems(path)
    for _ in range(_LOOKS - 1):
        if not found:
            return
        found = [each for each in _problems(path) if each in found]
    for line, problem in found:
        yield Finding("audit log", "audit_chain", line, problem)


def _problems(path: Path) -> list[tuple[str, str]]:
    """Returns the first problem of the log, with its line or the beginning of it."""
    recent: deque[tuple[int, bytes]] = deque(maxlen=_RECENT_LINES)
    try:
        result = verify(_remembered(_lines(path), recent))
    except FileNotFoundError:
        return []  # it is being renamed
    if not result.problem:
        return []
    line = dict(recent).get(result.lines, b"")
    return [(line[:_SHOWN_BYTES].decode("utf-8", "backslashreplace"), result.problem)]


def _remembered(lines: Iterable[bytes], recent: deque[tuple[int, bytes]]) -> Iterator[bytes]:
    for numbered in enumerate(lines):
        recent.append(numbered)
        yield numbered[1]


def _lines(path: Path) -> Iterator[bytes]:
    """Yields the lines of all files, without one that is being written."""
    files = with_older_files(path)
    for each in files:
        with each.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    yield line.rstrip(b"\n")
                elif each != files[-1]:
                    yield line
