"""Cache of the tables of commits, and the upload of new tables to the store.

Tables are named by their content and never change. Those of a local store are used in place; those
of other stores are cached in a folder that all processes of this machine share. If the disk is
full, a table is fetched into memory instead, and new tables are written to other folders before
they are uploaded.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

from anabranch.blocks.contract import BlockStore
from anabranch.blocks.local.folders import sync_folder
from anabranch.blocks.local.store import LocalBlocks
from anabranch.blocks.table_addresses import table_address, tables_address
from anabranch.errors import Corrupt, Gone
from anabranch.files.cache.file_cache import FileCache
from anabranch.files.cache.memfd_files import MemfdFiles, is_full
from anabranch.files.write_pieces import write_pieces

__all__ = ["TableCache", "missing_table"]

_SCRATCH = "scratch-"
_PIECE_BYTES = 1 << 20
_UPLOAD_THREADS = 8
_MIN_MEMORY_GRACE = 2.0
_ID_LENGTH = 64
_MAX_REMOVALS = 3
"""How often the folder of new tables may be removed while tables are written to it."""
_MEMORY = "/dev/shm"  # noqa: S108  every file in it has an unpredictable name

_log = logging.getLogger(__name__)

Made = TypeVar("Made")


class TableCache:
    """The tables of a block store, as local files.

    Tables of a remote store are cached in `folder`, up to `capacity_bytes` except for those used
    within `grace_seconds`. `verify` reads a whole table and returns its id.
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
        self._files = FileCache(folder, capacity_bytes, grace_seconds)
        self._memory_files = MemfdFiles(max(grace_seconds, _MIN_MEMORY_GRACE))
        self._verify = verify

    def locate(self, storage_namespace: str, table_id: str) -> str:
        """Returns the path of a table's file, which is fetched if it is not cached.

        Raises Gone (kind metadata_missing) for a missing table, Corrupt for one whose content does
        not match its id, Invalid for a malformed id.
        """
        address = table_address(storage_namespace, table_id)
        if self._local is None:
            return self._fetch(address, table_id)
        path = self._local.local_path(address)
        if not os.path.exists(path):
            raise missing_table(address)
        return path

    @property
    def store(self) -> BlockStore:
        """The store of the tables."""
        return self._store

    @property
    def is_local(self) -> bool:
        """Whether the store's files are used in place."""
        return self._local is not None

    def make_durable(self, storage_namespace: str, tables: Mapping[str, bytes]) -> None:
        """Makes small tables durable, given their bytes by id, which were written to the folder of
        a local store and not synced. Raises Busy if the store cannot.
        """
        assert self._local is not None  # noqa: S101  others have no such tables
        self._local.make_durable(tables_address(storage_namespace), tables)

    def write_folder(self, storage_namespace: str) -> str:
        """Returns the path of a folder for new tables, which `adopt` then publishes."""
        if self._local is not None:
            return self._local.write_folder(tables_address(storage_namespace))
        return self.scratch_folder()

    def scratch_folder(self) -> str:
        """Returns the path of a new folder for tables that may never be published. The caller
        removes it, and writes to it at least every hour.
        """
        return self._files.temporary_folder(_SCRATCH)

    def write(
        self,
        storage_namespace: str,
        make: Callable[[str], Made],
        new_tables: Callable[[Made], Sequence[str]],
    ) -> Made:
        """Calls `make` with a folder for new tables, publishes those that `new_tables` names, and
        returns the result of `make`.

        For a remote store, `make` is called again with another folder if the folder was removed,
        or, if the disk is full, with one of the system's temporary folders and then one in memory.
        Raises what `make` raises, and Busy if the store cannot store the tables.
        """
        if self._local is not None:
            return make(self._local.write_folder(tables_address(storage_namespace)))
        new_folders: list[Callable[[], str]] = [
            self.scratch_folder,
            lambda: tempfile.mkdtemp(prefix=_SCRATCH),
            lambda: tempfile.mkdtemp(prefix=_SCRATCH, dir=_MEMORY),
        ]
        removals = 0
        while True:
            folder = ""
            try:
                folder = new_folders[0]()
                made = make(folder)
                self.adopt(storage_namespace, folder, new_tables(made))
            except Exception as error:
                if folder and not os.path.isdir(folder) and removals < _MAX_REMOVALS:
                    removals += 1
                elif isinstance(error, OSError) and is_full(error) and len(new_folders) > 1:
                    del new_folders[0]
                    _log.warning("no space for new tables: %s", error)
                else:
                    raise
            else:
                return made
            finally:
                if folder:
                    shutil.rmtree(folder, ignore_errors=True)

    def repair(self, path: str) -> Literal["removed", "sound", "not cached"]:
        """Removes a cached file if its content does not match its name, so that it is fetched
        again, and returns its state. Other files are left unchanged.
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
        """Publishes complete, synced tables in `folder`: makes them durable in the store.

        Removes a folder of `write_folder` of a remote store, and may move tables out of one of
        `scratch_folder`. Raises Busy if the store cannot store the tables; the folder is then
        unchanged.
        """
        if self._local is not None and folder == self.write_folder(storage_namespace):
            return  # they were written in place
        scratch = self._is_scratch(folder)
        if self._local and scratch and self._move(storage_namespace, folder, table_ids):
            return
        addresses = [table_address(storage_namespace, table_id) for table_id in table_ids]
        paths = [f"{folder}/{table_id}" for table_id in table_ids]
        if len(paths) <= 1:
            for address, path in zip(addresses, paths, strict=True):
                self._upload(address, path)
        else:
            with ThreadPoolExecutor(min(_UPLOAD_THREADS, len(paths))) as pool:
                list(pool.map(self._upload, addresses, paths))
        if self._local is None and scratch:
            with suppress(OSError):  # they are in the store: caching them is optional
                for table_id, path in zip(table_ids, paths, strict=True):
                    self._files.add(path, table_id)
            shutil.rmtree(folder, ignore_errors=True)

    def _move(self, storage_namespace: str, folder: str, table_ids: Sequence[str]) -> bool:
        """Moves tables within a file system; returns False if they are on another one."""
        target = self.write_folder(storage_namespace)
        if os.stat(target).st_dev != os.stat(folder).st_dev:
            return False
        for table_id in table_ids:
            os.replace(f"{folder}/{table_id}", f"{target}/{table_id}")
        sync_folder(target)
        return True

    def clean_temporaries(self, older_than_seconds: float) -> int:
        """Removes folders for new tables that were not written to for so long, and returns their
        number. Counts the files of the cache.
        """
        before = time.time() - older_than_seconds  # the file system's clock
        removed = 0
        for folder in Path(self._files.folder).glob(f"{_SCRATCH}*"):
            try:
                is_old = folder.stat().st_mtime < before
            except FileNotFoundError:
                continue  # removed by its process
            if is_old:
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        if self._local is None:
            with suppress(FileNotFoundError):  # the folder is created when a table is fetched
                self._files.shrink()
        return removed

    def _fetch(self, address: str, table_id: str) -> str:
        arguments = (
            table_id,
            lambda descriptor: self._download(address, descriptor),
            lambda path: self._check(address, path, table_id),
        )
        try:
            return self._files.materialize(*arguments)
        except OSError as error:
            if not is_full(error):
                raise
        return self._memory_files.materialize(*arguments)

    def _is_scratch(self, folder: str) -> bool:
        return os.path.dirname(folder) == self._files.folder

    def _download(self, address: str, descriptor: int) -> None:
        try:
            pieces = self._store.get(address)
        except Gone as error:
            raise missing_table(address) from error
        write_pieces(descriptor, pieces)

    def _check(self, address: str, path: str, table_id: str) -> None:
        try:
            actual = self._verify(path)
        except Exception as error:
            raise Corrupt(f"{address}: {error}", path=address) from error
        if actual != table_id:
            raise Corrupt(f"{address}: the table's contents are those of {actual}", path=address)

    def _upload(self, address: str, path: str) -> None:
        block = self._store.stat(address)
        # a table in a local folder may be another writer's, who has not made it durable yet
        if self._local or block is None or block.size != os.path.getsize(path):
            self._store.put(address, _read_pieces(path))


def _read_pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_PIECE_BYTES):
            yield piece


def missing_table(address: str) -> Gone:
    """Returns the error for a table that is not in the store."""
    return Gone(
        f"{address}: the table is missing",
        kind="metadata_missing",
        hint="Restore the file from a backup.",
    )
