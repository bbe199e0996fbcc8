"""One file of a journal: locked by the process that writes it, for as long as that lives.

It is written from its beginning again and again. Where nothing was written before, zeros are
written ahead, so that hardly any sync has to wait for the file's size as well.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress

from anabranch.blocks.local_files import TemporaryNames
from anabranch.blocks.local_folders import make_durable, sync_folder
from anabranch.blocks.local_journal_records import (
    IDENTITY_BYTES,
    Record,
    beginning,
    encode,
    read_records,
)

__all__ = ["SUFFIX", "JournalFile", "identity_of", "new_journal_file", "try_lock"]

SUFFIX = ".journal-1"
"""How the names of journals end; the number is that of the format."""

_NAME = re.compile(rf"[0-9a-f]{{{2 * IDENTITY_BYTES}}}{re.escape(SUFFIX)}")

_AHEAD = 1 << 20


class JournalFile:
    """A journal's file that this process has made and locked; used by one thread at a time.

    Its life begins with `restart`. `paths` are the blocks whose files rely on it.
    """

    def __init__(self, path: str, descriptor: int, identity: bytes) -> None:
        self.path = path
        self.descriptor = descriptor
        self.length = 0
        """How many bytes of it are of this life."""
        self.paths: set[str] = set()
        self._identity = identity
        self._life = 0
        self._written = 0  # as far as the file has ever been written

    def append(self, records: Iterable[Record]) -> None:
        """Writes records and makes them durable. Raises OSError; then nothing was appended."""
        begun = self.length
        pieces = [
            piece
            for record in records
            for piece in encode(self._identity, self._life, begun, record)
        ]
        size = sum(map(len, pieces))
        end = begun + size
        written = self._written
        if end > written:
            written = end + _AHEAD
            pieces.append(bytes(written - end))
        self._write(b"".join(pieces), begun)
        os.fdatasync(self.descriptor)
        self._written = written
        self.length = end

    def restart(self) -> None:
        """Begins the file's next life, durably: it holds no blocks then. Raises OSError."""
        data = beginning(self._identity, self._life + 1)
        self._write(data, 0)
        os.fdatasync(self.descriptor)
        self._life += 1
        self.length = len(data)
        self.paths = set()

    def records(self) -> list[Record]:
        """Returns what was written in this life. Raises OSError."""
        data = b""
        while len(data) < self.length:
            piece = os.pread(self.descriptor, self.length - len(data), len(data))
            if not piece:
                break
            data += piece
        return read_records(data, self._identity).records

    def remove(self) -> None:
        """Removes the file, which must hold nothing that is needed."""
        os.unlink(self.path)
        self.close()

    def close(self) -> None:
        """Leaves the file to whoever opens the store next."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        self.close()

    def _write(self, data: bytes, position: int) -> None:
        written = os.pwrite(self.descriptor, data, position)
        while written < len(data):
            written += os.pwrite(self.descriptor, data[written:], position + written)


def new_journal_file(
    folder: str,
    names: TemporaryNames,
    random_bytes: Callable[[int], bytes] = secrets.token_bytes,
) -> JournalFile:
    """Returns a new journal in a folder, which is made if it is not there. Raises OSError."""
    identity = random_bytes(IDENTITY_BYTES)
    path, temporary = f"{folder}/{identity.hex()}{SUFFIX}", names.next()
    if not os.path.isdir(folder):
        make_durable(folder)
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    file = JournalFile(path, descriptor, identity)
    try:
        # locked before it has the name by which others would find it
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


def identity_of(path: str) -> bytes | None:
    """Returns the identity of a journal at a path, None for what is no journal of this format."""
    name = path.rpartition("/")[2]
    if _NAME.fullmatch(name) is None:
        return None
    return bytes.fromhex(name.removesuffix(SUFFIX))


def try_lock(descriptor: int) -> bool:
    """Locks a journal unless its process lives; returns whether."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
