"""Small blocks of a local store: written in place, and durable by way of the journal.

Only for addresses that nobody knows before the block is acknowledged: whoever lists the folder may
see a file that is not whole yet.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable
from itertools import chain

from anabranch import _kernel as kernel
from anabranch.blocks.contract import Stored
from anabranch.blocks.local_errors import translate
from anabranch.blocks.local_folders import LocalFolders
from anabranch.blocks.local_journal import Journal
from anabranch.blocks.local_paths import Place
from anabranch.blocks.local_syncing import sync_one_by_one

__all__ = ["SmallBlocks", "small_body"]

LARGEST_BYTES = 64 << 10
"""Larger ones would fill the journal, and are few."""


def small_body(chunks: Iterable[bytes]) -> tuple[bytes | None, Iterable[bytes]]:
    """Returns the body if it is small, and chunks that make the same body; raises what reading
    them raises.
    """
    left = iter(chunks)
    taken: list[bytes] = []
    size = 0
    for chunk in left:
        taken.append(chunk)
        size += len(chunk)
        if size > LARGEST_BYTES:
            return None, chain(taken, left)
    body = taken[0] if len(taken) == 1 else b"".join(taken)
    return body, (body,)


class SmallBlocks:
    """Puts small blocks. `clock` gives seconds since 1970."""

    def __init__(self, folders: LocalFolders, journal: Journal, clock: Callable[[], float]) -> None:
        self._folders = folders
        self._journal = journal
        self._clock = clock

    def put(self, place: Place, address: str, body: bytes) -> Stored | None:
        """Stores a block, durably; returns None where something has its name already. Raises
        Busy, and Invalid for a name that cannot be; then nothing stays.
        """
        digest = hashlib.md5(body, usedforsecurity=False)
        try:
            path = self._write(place, body)
            try:
                if not self._journal.keep(place.path, digest.digest(), body):
                    sync_one_by_one((path,))
            except BaseException:
                os.unlink(path)
                raise
        except FileExistsError:
            return None
        except OSError as error:
            raise translate(error, address) from error
        return Stored(len(body), digest.hexdigest(), int(self._clock()))

    def _write(self, place: Place, body: bytes) -> str:
        path = f"{self._folders.make(place.folder)}/{place.name}"
        wrong = kernel.write_new_file(path, body)
        if wrong == errno.ENOENT:
            self._folders.forget()  # somebody has removed a folder that was there
            self._folders.make(place.folder)
            wrong = kernel.write_new_file(path, body)
        if wrong:
            raise OSError(wrong, os.strerror(wrong), path)
        return path
