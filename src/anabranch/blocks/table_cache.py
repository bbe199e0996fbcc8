"""Brings the tables of commits to this machine, and those made here into the store.

Tables are named by what is in them and never change. Those of a local folder are used where they
lie; those of any other store are kept in a folder of this machine, which all its processes share.
Where the disk has no room for one, it is brought into memory instead, past the folder; new tables
are then written elsewhere and go to the store from there.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

from anabranch.blocks.cached_files import CachedFiles
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local import LocalBlocks
from anabranch.blocks.local_folders import sync_folder
from anabranch.blocks.passing_files import PassingFiles, is_full
from anabranch.blocks.table_addresses import table_address, tables_address
from anabranch.errors import Corrupt, Gone

__all__ = ["TableCache"]

_SCRATCH = "scratch-"
_PIECE_BYTES = 1 << 20
_UPLOADS = 8
_LEAST_GRACE_SECONDS = 2.0
_ID_LENGTH = 64
_MAX_REMOVALS = 3
"""So often may the folder of new tables be removed from under those who write them."""
_MEMORY = "/dev/shm"  # noqa: S108  every file in it has an unpredictable name

_log = logging.getLogger(__name__)

Made = TypeVar("Made")


class TableCache:
    """The tables of a block store, as files of this machine.

    Tables of a store elsewhere are kept in `folder`, at most `capacity_bytes` of them, except for
    those asked for within `grace_seconds`. `verify` reads a whole table and returns its id.
    """

    def __init__(
        self,
        store: BlockStore,
        folder: str | os.PathLike[str],
        capacity_bytes: int,
        *,
        verify: Callable[[str], str],
        grace_seconds: float = 2.0,
    ) -> None:
        self._store = store
        self._local = store if isinstance(store, LocalBlocks) else None
        self._files = CachedFiles(folder, capacity_bytes, grace_seconds)
        self._passing = PassingFiles(max(grace_seconds, _LEAST_GRACE_SECONDS))
        self._verify = verify

    def locate(self, storage_namespace: str, table_id: str) -> str:
        """Returns the path of a table's file, which is brought there if it must be.

        Raises Gone (kind metadata_missing) for a table that the store does not have, Corrupt for
        one that is not what its id says, Invalid for what is no id.
        """
        address = table_address(storage_namespace, table_id)
        if self._local is None:
            return self._bring(address, table_id)
        path = self._local.local_path(address)
        if not os.path.exists(path):
            raise _missing(address)
        return path

    @property
    def store(self) -> BlockStore:
        """The store whose tables these are."""
        return self._store

    def write_folder(self, storage_namespace: str) -> str:
        """Returns the path of a folder to write new tables into, which `adopt` then takes."""
        if self._local is not None:
            return self._local.write_folder(tables_address(storage_namespace))
        return self.scratch_folder()

    def scratch_folder(self) -> str:
        """Returns the path of a new folder for tables that may never be in the store. Whoever asks
        for it removes it, and writes into it at least every hour.
        """
        return self._files.temporary_folder(_SCRATCH)

    def write(
        self,
        storage_namespace: str,
        make: Callable[[str], Made],
        new_tables: Callable[[Made], Sequence[str]],
    ) -> Made:
        """Calls `make` with a folder to write new tables into, makes those that `new_tables` names
        durable in the store, and returns what `make` returned.

        For a store elsewhere `make` is called again with another folder when the one before was
        removed, and with one of the system's temporary folders, then one in memory, when the disk
        is full. Raises what `make` raises, Busy when the store cannot take the tables.
        """
        if self._local is not None:
            return make(self._local.write_folder(tables_address(storage_namespace)))
        places: list[Callable[[], str]] = [
            self.scratch_folder,
            lambda: tempfile.mkdtemp(prefix=_SCRATCH),
            lambda: tempfile.mkdtemp(prefix=_SCRATCH, dir=_MEMORY),
        ]
        removals = 0
        while True:
            folder = ""
            try:
                folder = places[0]()
                made = make(folder)
                self.adopt(storage_namespace, folder, new_tables(made))
            except Exception as error:
                if folder and not os.path.isdir(folder) and removals < _MAX_REMOVALS:
                    removals += 1
                elif isinstance(error, OSError) and is_full(error) and len(places) > 1:
                    del places[0]
                    _log.warning("no room for new tables: %s", error)
                else:
                    raise
            else:
                return made
            finally:
                if folder:
                    shutil.rmtree(folder, ignore_errors=True)

    def repair(self, path: str) -> Literal["removed", "sound", "not cached"]:
        """Removes a file of the cache if its content is not what its name says, so that it is
        brought anew, and returns what was found there. Files elsewhere are left alone.
        """
        folder, table_id = os.path.split(path)
        if self._local is not None or folder != self._files.folder or len(table_id) != _ID_LENGTH:
            return "not cached"
        try:
            if self._verify(path) == table_id:
                return "sound"
            reason = "its digest differs from its name"
        except Exception as error:  # noqa: BLE001  whatever it is, the file cannot be read
            reason = str(error)
        _log.warning("removed the damaged table %s from the cache: %s", path, reason)
        self._files.remove(table_id)
        return "removed"

    def adopt(self, storage_namespace: str, folder: str, table_ids: Sequence[str]) -> None:
        """Makes tables that were written into `folder`, whole and synced, durable in the store.

        A folder given by `write_folder` of a store elsewhere is gone afterwards, and tables may
        have gone from one given by `scratch_folder`. Raises Busy when the store cannot take them;
        a folder is then as it was.
        """
        if self._local is not None and folder == self.write_folder(storage_namespace):
            return  # they were written in their place
        scratch = self._is_scratch(folder)
        if self._local and scratch and self._moved(storage_namespace, folder, table_ids):
            return
        addresses = [table_address(storage_namespace, table_id) for table_id in table_ids]
        paths = [f"{folder}/{table_id}" for table_id in table_ids]
        if len(paths) <= 1:
            for address, path in zip(addresses, paths, strict=True):
                self._upload(address, path)
        else:
            with ThreadPoolExecutor(min(_UPLOADS, len(paths))) as pool:
                list(pool.map(self._upload, addresses, paths))
        if self._local is None and scratch:
            with suppress(OSError):  # they are in the store: the cache may do without them
                for table_id, path in zip(table_ids, paths, strict=True):
                    self._files.take(path, table_id)
            shutil.rmtree(folder, ignore_errors=True)

    def _moved(self, storage_namespace: str, folder: str, table_ids: Sequence[str]) -> bool:
        """Moves tables within a file system; returns whether that could be done."""
        place = self.write_folder(storage_namespace)
        if os.stat(place).st_dev != os.stat(folder).st_dev:
            return False
        for table_id in table_ids:
            os.replace(f"{folder}/{table_id}", f"{place}/{table_id}")
        sync_folder(place)
        return True

    def clean_temporaries(self, older_than_seconds: float) -> int:
        """Removes folders for new tables that nobody has written into for so long, and counts the
        files of the cache; returns how many folders that were.
        """
        before = time.time() - older_than_seconds  # the file system's clock
        removed = 0
        for folder in Path(self._files.folder).glob(f"{_SCRATCH}*"):
            try:
                old = folder.stat().st_mtime < before
            except FileNotFoundError:
                continue  # whoever made it is done
            if old:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        if self._local is None:
            with suppress(FileNotFoundError):  # the folder is made when a table is brought
                self._files.shrink()
        return removed

    def _bring(self, address: str, table_id: str) -> str:
        how = (
            table_id,
            lambda descriptor: self._download(address, descriptor),
            lambda path: self._check(address, path, table_id),
        )
        try:
            return self._files.bring(*how)
        except OSError as error:
            if not is_full(error):
                raise
        return self._passing.bring(*how)

    def _is_scratch(self, folder: str) -> bool:
        return os.path.dirname(folder) == self._files.folder

    def _download(self, address: str, descriptor: int) -> None:
        try:
            pieces = self._store.get(address)
        except Gone as error:
            raise _missing(address) from error
        for piece in pieces:
            written = 0
            while written < len(piece):
                written += os.write(descriptor, piece[written:])

    def _check(self, address: str, path: str, table_id: str) -> None:
        try:
            found = self._verify(path)
        except Exception as error:
            raise Corrupt(f"{address}: {error}", path=address) from error
        if found != table_id:
            raise Corrupt(f"{address}: the table's contents are those of {found}", path=address)

    def _upload(self, address: str, path: str) -> None:
        there = self._store.stat(address)
        if there is None or there.size != os.path.getsize(path):
            self._store.put(address, _pieces(path))


def _pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def _missing(address: str) -> Gone:
    return Gone(
        f"{address}: the table is missing",
        kind="metadata_missing",
        hint="Restore the file from a backup.",
    )
