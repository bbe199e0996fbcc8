"""Tables of commits as files of this machine, in a folder that its processes share.

A table is named by the digest of its records and never changes: it is verified once, when it is
downloaded, and then given its name. With a full disk, or a folder that cannot be written, a table
is kept in memory.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from anabranch import _kernel as kernel
from anabranch.errors import Busy, Corrupt, Invalid
from anabranch.files.cache.file_cache import FileCache
from anabranch.files.cache.memfd_files import MemfdFiles
from anabranch.files.write_pieces import write_pieces
from anabranch.remote.snapshots.cache_settings import CacheSettings

__all__ = ["TableFiles"]

_GRACE_SECONDS = 2.0
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

Download = Callable[[str], Iterable[bytes]]
"""Returns the bytes of a table by its id."""


class TableFiles:
    """The cached tables. Raises Invalid for a folder that other users can write to: they could
    replace what is verified only once.
    """

    def __init__(self, settings: CacheSettings) -> None:
        self._memory = MemfdFiles(_GRACE_SECONDS)
        self._files: FileCache | None = None
        with suppress(OSError):
            self._files = FileCache(settings.folder, settings.capacity_bytes, _GRACE_SECONDS)
            _require_private(settings.folder)

    def locate(self, table_id: str, download: Download) -> str:
        """Returns the path of a table's file, which is downloaded if it is not cached. Raises
        Corrupt for one whose content does not match its id, Busy if there is no space.
        """

        def fill(descriptor: int) -> None:
            write_pieces(descriptor, download(table_id))

        def check(path: str) -> None:
            _check(path, table_id)

        if self._files is not None:
            with suppress(OSError):  # no space, or no right to write
                return self._files.materialize(table_id, fill, check)
        try:
            return self._memory.materialize(table_id, fill, check)
        except OSError as error:
            raise _no_space(error) from error

    def find(self, table_id: str) -> str | None:
        """Returns the path of a cached table, or None."""
        return None if self._files is None else self._files.find(table_id)

    def add(self, make: Callable[[str], kernel.Written]) -> kernel.Written:
        """Calls a function that writes tables to a folder, adds them to the cache, and returns its
        result. Raises Busy if there is no space.
        """
        if self._files is None:
            raise _no_space("the folder of the cache cannot be written")
        try:
            folder = self._files.temporary_folder("new-")
            try:
                written = make(folder)
                for table_id in written.tables:
                    self._files.add(f"{folder}/{table_id}", table_id)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError as error:
            raise _no_space(error) from error
        return written

    def repair(self, table_id: str) -> None:
        """Removes a cached table whose content does not match its id."""
        path = self.find(table_id)
        if self._files is None or path is None:
            return
        try:
            _check(path, table_id)
        except Corrupt:
            self._files.remove(table_id)


def _check(path: str, table_id: str) -> None:
    try:
        actual = kernel.verify_table(path)
    except kernel.KernelError as error:
        raise Corrupt(f"the table {table_id}: {error}", path=path) from error
    if actual != table_id:
        raise Corrupt(f"the table {table_id} has the contents of {actual}", path=path)


def _require_private(folder: str) -> None:
    state = Path(folder).stat()
    if state.st_uid != os.geteuid() or state.st_mode & _WRITABLE_BY_OTHERS:
        raise Invalid(
            f"{folder}: other users can write to the folder of cached tables",
            kind="cache_not_private",
            hint="Name a folder of your own in ANABRANCH_CACHE_FOLDER, with the mode 0700.",
        )


def _no_space(error: OSError | str) -> Busy:
    return Busy(
        f"there is no space for the tables of a snapshot: {error}",
        kind="no_space_for_tables",
        hint="Free some space, or name another folder in ANABRANCH_CACHE_FOLDER.",
    )
