"""The trees of commits: opens, caches and writes them as tables of a storage namespace."""

from __future__ import annotations

import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.blocks.local.errors import translate_error
from anabranch.errors import Corrupt, Gone
from anabranch.files.work_folders import WorkFolder
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.staging.area import Row
from anabranch.versioning.trees.tree_writers import (
    NewTables,
    TreeWriter,
    WriteRecords,
    WrittenTables,
)
from anabranch.versioning.trees.unsynced_tables import UnsyncedTables

__all__ = ["Trees", "translate_errors"]

_MAX_OPEN_TREES = 256
_MAX_REPAIRS = 100
"""How many damaged tables of the cache are fetched again for one call."""
_ABANDONED_SECONDS = 3600.0
_READ_ERRORS = (kernel.CorruptTable, kernel.MissingTable, OSError, Corrupt)

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound=WrittenTables)


class Trees:
    """The trees of all repositories, in a cache of the most recently opened ones.

    `tables` provides the files of tables on this machine, `pool` keeps tables open.
    """

    def __init__(self, tables: TableCache, pool: kernel.Tables) -> None:
        self._tables = tables
        self._pool = pool
        self._lock = threading.Lock()
        self._trees: OrderedDict[tuple[str, str], kernel.Tree] = OrderedDict()
        self._deferred: ContextVar[UnsyncedTables | None] = ContextVar("deferred", default=None)

    def open(self, repository: Repository, metarange_id: str) -> kernel.Tree:
        """Returns the tree of a metarange. Raises Gone for lost, Corrupt for damaged tables."""
        namespace = repository.storage_namespace
        cache_key = (namespace, metarange_id)
        tree = self._trees.get(cache_key)
        if tree is not None:
            return tree
        tree = self.read(
            self._pool.tree,
            metarange_id,
            lambda table_id: self._tables.locate(namespace, table_id),
        )
        with self._lock:
            self._trees[cache_key] = tree
            while len(self._trees) > _MAX_OPEN_TREES:
                self._trees.popitem(last=False)
        return tree

    def close(self) -> None:
        """Forgets the opened trees. Each refers to this object, to locate its tables, in a way that
        Python's garbage collection does not see: their files would stay mapped.
        """
        with self._lock:
            self._trees.clear()

    def locate(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table's file, fetching the table if needed. Raises Gone."""
        return self._tables.locate(repository.storage_namespace, table_id)

    @contextmanager
    def overlaid(
        self,
        repository: Repository,
        metarange_id: str,
        staged: Iterable[Row],
        *folders: str,
    ) -> Iterator[kernel.Tree]:
        """Yields a tree with staged changes applied, which is valid inside the context. Its tables
        can be in `folders`, too.

        Its new tables are written to a temporary folder, not to the repository's store.
        """
        base = self._open_in_any(folders, repository, metarange_id)
        with WorkFolder("tables") as folder, translate_errors():
            written = base.apply_staged(staged, folder, unsynced=True)
            yield self._open_in_any((folder, *folders), repository, written.metarange_id)

    @contextmanager
    def scratch(self) -> Iterator[str]:
        """Yields a folder for tables that may never become part of a commit; removes it on exit."""
        folder = self._tables.scratch_folder()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def open_in(self, folder: str, metarange_id: str) -> kernel.Tree:
        """Returns the tree whose tables are all in a folder."""
        with translate_errors():
            return self._pool.tree(metarange_id, lambda table_id: f"{folder}/{table_id}")

    def open_overlay(self, folder: str, repository: Repository, metarange_id: str) -> kernel.Tree:
        """Returns the tree whose tables are in a folder or in the repository's store."""
        return self._open_in_any((folder,), repository, metarange_id)

    def _open_in_any(
        self, folders: Sequence[str], repository: Repository, metarange_id: str
    ) -> kernel.Tree:
        if not folders:
            return self.open(repository, metarange_id)

        def locate(table_id: str) -> str:
            for folder in folders:
                path = f"{folder}/{table_id}"
                if os.path.exists(path):  # noqa: PTH110  for each table that is opened
                    return path
            return self.locate(repository, table_id)

        with translate_errors():
            return self._pool.tree(metarange_id, locate)

    def write_folder(self, repository: Repository) -> str:
        """Returns the folder into which the kernel writes a repository's new tables."""
        return self._tables.write_folder(repository.storage_namespace)

    def clean_temporaries(self) -> None:
        """Removes temporary files that killed processes have left."""
        self._tables.clean_temporaries(_ABANDONED_SECONDS)

    def write(self, repository: Repository, writer: TreeWriter[R]) -> R:
        """Writes a tree, makes its new tables durable in the repository's store, and returns it.
        Raises what the writer raises.
        """
        namespace = repository.storage_namespace
        if not self._tables.is_local:
            return self.read(self._tables.write, namespace, writer.write, _new_tables)
        folder = self._tables.write_folder(namespace)
        written = self.read(writer.write, folder, unsynced=True)
        deferred = self._deferred.get()
        tables = deferred or UnsyncedTables(self._tables)
        tables.add(namespace, written.unsynced)
        if deferred is None:
            with translate_errors():
                tables.make_durable()
        return written

    @contextmanager
    def deferring(self) -> Iterator[UnsyncedTables]:
        """Yields the small tables that this thread writes in the context. They are complete, but
        not durable: before anything refers to them, the caller makes them so.
        """
        tables = UnsyncedTables(self._tables)
        token = self._deferred.set(tables)
        try:
            yield tables
        finally:
            self._deferred.reset(token)

    def write_empty(self, repository: Repository) -> str:
        """Writes the tree without objects, and returns its metarange id. The first commit of a
        repository alone has no tree instead, as in lakeFS.
        """
        return self.write(repository, WriteRecords([])).metarange_id

    def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Calls `call`, which reads tables, and returns its result. If it finds a damaged file in
        the cache, removes the file, so that it is fetched again, and repeats the call.

        Raises Gone for lost tables, Corrupt for tables that are damaged in the store.
        """
        try:
            return call(*args, **kwargs)
        except _READ_ERRORS as error:
            failure: Exception = error
        sound = 0
        for _ in range(_MAX_REPAIRS):
            if not isinstance(failure, kernel.CorruptTable | Corrupt):
                break
            state = self._tables.repair(failure.path)
            # sound: another thread or process has replaced the file since it was read
            sound += state == "sound"
            if state == "not cached" or sound > 1:
                break
            try:
                return call(*args, **kwargs)
            except _READ_ERRORS as error:
                failure = error
        with translate_errors():
            raise failure

    def adopt(self, repository: Repository, folder: str, written: NewTables) -> str:
        """Makes written tables durable in the repository's store; returns the metarange id."""
        self._tables.adopt(repository.storage_namespace, folder, written.tables)
        return written.metarange_id


def _new_tables(written: NewTables) -> list[str]:
    return written.tables


class translate_errors:  # noqa: N801  used like a function: `with translate_errors():`
    """Context manager that raises Anabranch's errors in place of the kernel's."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, kernel.CorruptTable):
            raise Corrupt(
                f"the metadata file {error.path} is damaged: {error.reason}", path=error.path
            ) from error
        if isinstance(error, kernel.MissingTable):
            raise Gone(
                f"the metadata file {error.path or error.table_id} is missing",
                kind="metadata_missing",
                hint="Restore the file from a backup.",
            ) from error
        if isinstance(error, OSError):
            raise translate_error(error, str(error.filename)) from error
