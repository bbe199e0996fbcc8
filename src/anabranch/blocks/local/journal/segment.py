"""Segment: one file of a journal, locked by the process that writes it while that process runs.

A segment is reused from its start for each generation. New space is filled with zeros ahead of the
records, so that few syncs have to write the file's size as well.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress

from anabranch.blocks.local.files import TemporaryNames
from anabranch.blocks.local.folders import make_durable, sync_folder
from anabranch.blocks.local.journal.record_format import (
    IDENTITY_BYTES,
    Record,
    encode,
    encode_start,
    read_records,
)
from anabranch.files.sync_data import sync_data

__all__ = ["SUFFIX", "Segment", "create_segment", "parse_identity", "try_lock"]

SUFFIX = ".journal-1"
"""Suffix of the names of segments, with the version of the format."""

_NAME = re.compile(rf"[0-9a-f]{{{2 * IDENTITY_BYTES}}}{re.escape(SUFFIX)}")

_PREALLOCATED_BYTES = 1 << 20


class Segment:
    """A file that this process has created and locked; used by one thread at a time.

    `restart` begins a generation. `paths` are the blocks that are not durable without the segment,
    of which those in `shared` have no tombstones.
    """

    def __init__(self, path: str, descriptor: int, identity: bytes) -> None:
        self.path = path
        self.descriptor = descriptor
        self.length = 0
        """Number of bytes of the current generation."""
        self.paths: set[str] = set()
        self.shared: set[str] = set()
        self._identity = identity
        self._generation = 0
        self._written = 0  # high-water mark over all generations

    def append(self, records: Iterable[Record]) -> None:
        """Appends records and syncs. Raises OSError; then nothing was appended."""
        batch_start = self.length
        pieces = [
            piece
            for record in records
            for piece in encode(self._identity, self._generation, batch_start, record)
        ]
        size = sum(map(len, pieces))
        end = batch_start + size
        written = self._written
        if end > written:
            written = end + _PREALLOCATED_BYTES
            pieces.append(bytes(written - end))
        self._write(b"".join(pieces), batch_start)
        sync_data(self.descriptor)
        self._written = written
        self.length = end

    def restart(self) -> None:
        """Begins the next generation, durably: it has no records. Raises OSError."""
        data = encode_start(self._identity, self._generation + 1)
        self._write(data, 0)
        sync_data(self.descriptor)
        self._generation += 1
        self.length = len(data)
        self.paths = set()
        self.shared = set()

    def records(self) -> list[Record]:
        """Returns the records of the current generation. Raises OSError."""
        data = b""
        while len(data) < self.length:
            piece = os.pread(self.descriptor, self.length - len(data), len(data))
            if not piece:
                break
            data += piece
        return read_records(data, self._identity).records

    def remove(self) -> None:
        """Removes the file, whose records must not be needed."""
        os.unlink(self.path)
        self.close()

    def close(self) -> None:
        """Unlocks the file, which the next opening of the store recovers."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()

    def _write(self, data: bytes, position: int) -> None:
        written = os.pwrite(self.descriptor, data, position)
        while written < len(data):
            written += os.pwrite(self.descriptor, data[written:], position + written)


def create_segment(
    folder: str,
    names: TemporaryNames,
    random_bytes: Callable[[int], bytes] = secrets.token_bytes,
) -> Segment:
    """Creates a segment in a folder, which is created if it does not exist. Raises OSError."""
    identity = random_bytes(IDENTITY_BYTES)
    path, temporary = f"{folder}/{identity.hex()}{SUFFIX}", names.next()
    if not os.path.isdir(folder):
        make_durable(folder)
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    file = Segment(path, descriptor, identity)
    try:
        # locked before other processes can find it by its name
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.restart()
        os.rename(temporary, path)
        sync_folder(folder)
    except BaseException:
        file.close()
        for name in (temporary, path):
            with suppress(FileNotFoundError):
                os.unlink(name)
        raise
    return file


def parse_identity(path: str) -> bytes | None:
    """Returns the identity of a segment, given its path; None for other files."""
    name = path.rpartition("/")[2]
    if _NAME.fullmatch(name) is None:
        return None
    return bytes.fromhex(name.removesuffix(SUFFIX))


def try_lock(descriptor: int) -> bool:
    """Locks a segment and returns True; returns False if its process is running."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
