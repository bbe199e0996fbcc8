"""Small blocks of a local store: written in place, and made durable by the journal.

They are at unique addresses, which no other process reads before the block is acknowledged: a
listing may show a file that is not complete yet. Or they are files that others have written whole,
under names that say what they contain, such as the tables of commits.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from anabranch import _kernel as kernel
from anabranch.blocks.contract import Stored
from anabranch.blocks.local.errors import translate_error
from anabranch.blocks.local.folders import LocalFolders
from anabranch.blocks.local.fsync import sync_individually
from anabranch.blocks.local.journal.journal import Journal
from anabranch.blocks.local.journal.record_format import Record
from anabranch.blocks.local.paths import Place

__all__ = ["SmallObjects", "read_small_body"]

MAX_SMALL_BYTES = 64 << 10
"""Larger blocks would fill the journal."""


def read_small_body(chunks: Iterable[bytes]) -> tuple[bytes | None, Iterable[bytes]]:
    """Returns the body if it is small, and an iterable of the same chunks. Raises what `chunks`
    raises.
    """
    remaining = iter(chunks)
    read: list[bytes] = []
    size = 0
    for chunk in remaining:
        read.append(chunk)
        size += len(chunk)
        if size > MAX_SMALL_BYTES:
            return None, chain(read, remaining)
    body = read[0] if len(read) == 1 else b"".join(read)
    return body, (body,)


class SmallObjects:
    """Writer of small blocks. `clock` gives seconds since 1970."""

    def __init__(self, folders: LocalFolders, journal: Journal, clock: Callable[[], float]) -> None:
        self._folders = folders
        self._journal = journal
        self._clock = clock

    def put(self, place: Place, address: str, body: bytes) -> Stored | None:
        """Stores a block durably; returns None if its name exists already. Raises Busy, and Invalid
        for an invalid name; then stores nothing.
        """
        digest = hashlib.md5(body, usedforsecurity=False)
        try:
            path = self._write(place, body)
            try:
                if not self._journal.append_durable(place.path, digest.digest(), body):
                    sync_individually((path,))
            except BaseException:
                os.unlink(path)
                raise
        except FileExistsError:
            return None
        except OSError as error:
            raise translate_error(error, address) from error
        return Stored(len(body), digest.hexdigest(), int(self._clock()))

    def make_durable(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Makes files durable, given their bytes by name, that were written into a folder without
        a sync. They are named by their content: another writer may write the same ones. Raises
        Busy.
        """
        records = [
            Record(
                f"{folder}/{name}", hashlib.md5(body, usedforsecurity=False).digest(), body, True
            )
            for name, body in files.items()
        ]
        if self._journal.append_all_durable(records):
            return
        path = self._folders.path(folder)
        try:
            sync_individually([f"{path}/{name}" for name in files])
        except OSError as error:
            raise translate_error(error, folder) from error

    def _write(self, place: Place, body: bytes) -> str:
        path = f"{self._folders.make(place.folder)}/{place.name}"
        error_number = kernel.write_new_file(path, body)
        if error_number == errno.ENOENT:
            self._folders.clear_cache()  # a folder was removed meanwhile
            self._folders.make(place.folder)
            error_number = kernel.write_new_file(path, body)
        if error_number:
            raise OSError(error_number, os.strerror(error_number), path)
        return path
