"""Trees of commits: opened from the tables of a repository's storage namespace, kept open."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

from anabranch import _kernel as kernel
from anabranch.blocks.local_errors import translate
from anabranch.blocks.table_cache import TableCache
from anabranch.errors import Corrupt, Gone
from anabranch.model.repository import Repository
from anabranch.versioning.staging import Row

__all__ = ["NewTables", "Trees", "translated"]

_OPEN_TREES = 256
_MAX_REPAIRS = 100
"""So many damaged tables of the cache are fetched anew for one call."""
_ABANDONED_SECONDS = 3600.0
_READ_ERRORS = (kernel.CorruptTable, kernel.MissingTable, OSError, Corrupt)

P = ParamSpec("P")
T = TypeVar("T")
Made = TypeVar("Made")


class NewTables(Protocol):
    """A tree that was written: its id, and those of its tables that are new."""

    @property
    def metarange_id(self) -> str:
        """The tree's id."""

    @property
    def tables(self) -> list[str]:
        """The ids of the new tables."""


class Trees:
    """The open trees of all repositories; the least recently used are let go.

    `tables` brings a table's file to this machine, `pool` keeps tables open.
    """

    def __init__(self, tables: TableCache, pool: kernel.Tables) -> None:
        self._tables = tables
        self._pool = pool
        self._lock = threading.Lock()
        self._trees: OrderedDict[tuple[str, str], kernel.Tree] = OrderedDict()

    def open(self, repository: Repository, metarange_id: str) -> kernel.Tree:
        """Returns the tree of a metarange. Raises Gone for lost tables, Corrupt for damaged."""
        namespace = repository.storage_namespace
        name = (namespace, metarange_id)
        tree = self._trees.get(name)
        if tree is not None:
            return tree
        tree = self.read(
            self._pool.tree,
            metarange_id,
            lambda table_id: self._tables.locate(namespace, table_id),
        )
        with self._lock:
            self._trees[name] = tree
            while len(self._trees) > _OPEN_TREES:
                self._trees.popitem(last=False)
        return tree

    def locate(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table's file, which is brought here if it must be. Raises Gone."""
        return self._tables.locate(repository.storage_namespace, table_id)

    @contextmanager
    def overlaid(
        self,
        repository: Repository,
        metarange_id: str,
        staged: Iterable[Row],
    ) -> Iterator[kernel.Tree]:
        """Gives a tree with staged changes made, for as long as it is entered.

        Its new tables lie in a folder of their own, not in the repository's store.
        """
        base = self.open(repository, metarange_id)
        with tempfile.TemporaryDirectory(prefix="anabranch-") as folder, translated():
            written = base.apply_staged(staged, folder)
            fresh = set(written.tables)

            def locate(table_id: str) -> str:
                if table_id in fresh:
                    return f"{folder}/{table_id}"
                return self._tables.locate(repository.storage_namespace, table_id)

            yield self._pool.tree(written.metarange_id, locate)

    @contextmanager
    def scratch(self) -> Iterator[str]:
        """Gives a folder for tables that may never be a commit's, for as long as it is entered."""
        folder = self._tables.scratch_folder()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def open_in(self, folder: str, metarange_id: str) -> kernel.Tree:
        """Returns the tree whose tables were all written into a folder."""
        with translated():
            return self._pool.tree(metarange_id, lambda table_id: f"{folder}/{table_id}")

    def open_over(self, folder: str, repository: Repository, metarange_id: str) -> kernel.Tree:
        """Returns the tree whose tables were written into a folder, or lie in the repository."""

        def locate(table_id: str) -> str:
            path = Path(folder, table_id)
            return str(path) if path.exists() else self.locate(repository, table_id)

        with translated():
            return self._pool.tree(metarange_id, locate)

    def write_folder(self, repository: Repository) -> str:
        """Returns the folder into which the kernel writes a repository's new tables."""
        return self._tables.write_folder(repository.storage_namespace)

    def clean_temporaries(self) -> None:
        """Removes what killed processes have left of trees that they were writing."""
        self._tables.clean_temporaries(_ABANDONED_SECONDS)

    def write(
        self,
        repository: Repository,
        make: Callable[[str], Made],
        written: Callable[[Made], NewTables | None],
    ) -> Made:
        """Calls `make`, which writes new tables into the folder it is given, makes durable what
        `written` finds in its result, and returns the result.

        `make` may be called again with another folder. Raises what `make` raises.
        """

        def new_tables(made: Made) -> list[str]:
            tables = written(made)
            return [] if tables is None else tables.tables

        return self.read(self._tables.write, repository.storage_namespace, make, new_tables)

    def read(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns what `call`, one that reads tables, returns. Where it meets a damaged file of the
        cache, the file is removed, so that it is fetched anew, and the call is repeated.

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
            found = self._tables.repair(failure.path)
            # sound: another thread or process has replaced the file since it was read
            sound += found == "sound"
            if found == "not cached" or sound > 1:
                break
            try:
                return call(*args, **kwargs)
            except _READ_ERRORS as error:
                failure = error
        with translated():
            raise failure

    def adopt(self, repository: Repository, folder: str, written: NewTables) -> str:
        """Makes written tables durable in the repository's store; returns the metarange id."""
        self._tables.adopt(repository.storage_namespace, folder, written.tables)
        return written.metarange_id


class translated:  # noqa: N801  reads as a word: `with translated():`
    """Turns the kernel's errors into Anabranch's own while it is entered."""

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
            raise translate(error, str(error.filename)) from error
