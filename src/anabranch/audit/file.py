"""An audit log in a file, which several processes of a machine may write.

Writers take turns by a lock on a file beside it and continue the chain from the last line, also if
another process wrote it. A file that has become too long is renamed to `NAME.1`, the older ones to
`NAME.2` and so on; the chain continues in the new file.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from anabranch.audit.chain import FIRST, digest_of, encode_line, is_intact
from anabranch.errors import Invalid
from anabranch.files.write_pieces import write_pieces

__all__ = ["AuditFile", "with_older_files"]

_TAIL = 1 << 16
_MODE = 0o600


class AuditFile:
    """Appends records to a file. Raises Invalid if the file cannot be written."""

    def __init__(self, path: Path, *, max_bytes: int, keep_files: int) -> None:
        self._path = path
        self._lock_path = path.with_name(path.name + ".lock")
        self._max_bytes = max_bytes
        self._keep_files = keep_files
        try:
            with self._lock() as file:
                self._last_digest(file)
        except OSError as error:
            raise Invalid(
                f"audit.file: {path} cannot be written: {error.strerror}",
                kind="invalid_settings",
                hint="Name a file in a folder that the server's user may write.",
            ) from error

    def write(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Appends records in order. Raises OSError; nothing or only a part is written then, and
        the next call completes the file.
        """
        with self._lock() as file:
            previous = self._last_digest(file)
            lines = []
            for record in records:
                line, previous = encode_line(record, previous)
                lines.append(line)
            write_pieces(file, [b"".join(lines)])
            if os.fstat(file).st_size >= self._max_bytes:
                self._rotate()

    def close(self) -> None:
        """Does nothing: the file is open only while it is written."""

    @contextmanager
    def _lock(self) -> Iterator[int]:
        """Yields the file's descriptor while this is the only writer."""
        lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            file = os.open(self._path, flags, _MODE)
            try:
                yield file
            finally:
                os.close(file)
        finally:
            os.close(lock)

    def _last_digest(self, file: int) -> str:
        """Returns the digest of the last line. After a crash, the last line may be torn: it is
        ended, and a record says so.
        """
        last, is_whole = _last_line(file)
        if is_whole and not last:
            return self._digest_of_rotated()
        if is_whole:
            return digest_of(last) or FIRST
        if is_intact(last):
            write_pieces(file, [b"\n"])
            return digest_of(last)
        complete = _last_line(file, before=os.fstat(file).st_size - len(last))[0]
        record = {"event": "torn", "torn": hashlib.sha256(last).hexdigest()}
        line, digest = encode_line(record, digest_of(complete) or FIRST)
        write_pieces(file, [b"\n" + line])
        return digest

    def _digest_of_rotated(self) -> str:
        """Returns the digest of the last line of the file before this one."""
        try:
            file = os.open(self._rotated_path(1), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return FIRST
        try:
            return digest_of(_last_line(file)[0]) or FIRST
        finally:
            os.close(file)

    def _rotate(self) -> None:
        for number in range(self._keep_files - 1, 0, -1):
            if self._rotated_path(number).exists():
                self._rotated_path(number).replace(self._rotated_path(number + 1))
        self._path.replace(self._rotated_path(1))

    def _rotated_path(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def with_older_files(path: Path) -> list[Path]:
    """Returns an audit log's file after the older ones, `NAME.1` and so on, the oldest first."""
    older: list[Path] = []
    while (each := path.with_name(f"{path.name}.{len(older) + 1}")).exists():
        older.append(each)
    # just after a rotation, only the older ones exist
    return [*reversed(older), *([path] if path.exists() or not older else [])]


def _last_line(file: int, before: int | None = None) -> tuple[bytes, bool]:
    """Returns the last line of a file, of its bytes `before` a position, and whether it ends."""
    end = os.fstat(file).st_size if before is None else before
    tail, start = b"", end
    while start > 0 and b"\n" not in tail.rstrip(b"\n"):
        size = min(_TAIL, start)
        start -= size
        tail = os.pread(file, size, start) + tail
    if not tail:
        return b"", True
    is_whole = tail.endswith(b"\n")
    return tail.rstrip(b"\n").rpartition(b"\n")[2], is_whole
