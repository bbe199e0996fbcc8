"""The tables of a repository for tasks, which read and write them. All classes can be pickled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.errors import AnabranchError, NotSupported
from anabranch.files.work_folders import WorkFolder
from anabranch.spark.planning.partition_planning import Ranges
from anabranch.spark.sources.sparse_tables import SparseTables
from anabranch.spark.sources.stores import Opener, open_store
from anabranch.versioning.trees.trees import translate_errors

__all__ = [
    "DivisibleTables",
    "FolderTables",
    "PartTables",
    "RangeWriter",
    "StoredTables",
    "TableFiles",
    "WritableTables",
    "open_range_tables",
]

_UNLIMITED_BYTES = 1 << 50
"""The size of a task's table cache: no table is evicted before the task ends."""

RangeWriter = Callable[[str], Sequence[kernel.RangeInfo]]
"""Writes ranges to the folder and returns them."""


class TableFiles(Protocol):
    """The tables of one repository."""

    def locator(self) -> AbstractContextManager[Callable[[str], str]]:
        """Gives a function that returns the path of a table by its id. The path is valid until the
        context ends.
        """


class WritableTables(TableFiles, Protocol):
    """The tables of a repository to which tasks can add ranges."""

    def write_ranges(self, write: RangeWriter) -> Sequence[kernel.RangeInfo]:
        """Writes ranges, stores them durably and returns them."""


class PartTables(TableFiles, Protocol):
    """Tables of which parts are read."""

    def load(self, table_id: str, after: bytes, until: bytes | None) -> None:
        """Makes the keys after `after`, up to `until` if it is given, readable. Raises Gone and
        Corrupt.
        """


class DivisibleTables(TableFiles, Protocol):
    """Tables that can be read as a whole, and in parts."""

    def parts(self) -> AbstractContextManager[PartTables]:
        """Gives the tables for reading parts of them."""


class FolderTables(NamedTuple):
    """Tables in a folder that every worker sees at the same path."""

    folder: str

    @contextmanager
    def locator(self) -> Iterator[Callable[[str], str]]:
        """Gives the function; tables are used in place."""
        yield lambda table_id: f"{self.folder}/{table_id}"

    @contextmanager
    def parts(self) -> Iterator[FolderTables]:
        """Gives these tables: blocks are read when they are needed."""
        yield self

    def load(self, table_id: str, after: bytes, until: bytes | None) -> None:
        """Does nothing."""

    def write_ranges(self, write: RangeWriter) -> Sequence[kernel.RangeInfo]:
        """Writes ranges to the folder. Raises NotSupported if it does not exist on the worker."""
        if not Path(self.folder).is_dir():
            raise NotSupported(
                f"the folder of the lake does not exist on this worker: {self.folder}",
                hint="Mount it on all workers, or use a server.",
            )
        with translate_errors():
            return write(self.folder)


class StoredTables(NamedTuple):
    """Tables in an object store, which each worker opens."""

    store: Opener
    storage_namespace: str

    @contextmanager
    def locator(self) -> Iterator[Callable[[str], str]]:
        """Gives the function; tables are downloaded at their first use and verified."""
        with self._cache() as cache:
            yield lambda table_id: cache.locate(self.storage_namespace, table_id)

    @contextmanager
    def parts(self) -> Iterator[SparseTables]:
        """Gives the tables; of each, the index and the parts that are loaded are downloaded."""
        with WorkFolder("spark") as folder, open_store(self.store) as blocks:
            yield SparseTables(blocks, self.storage_namespace, str(folder))

    def write_ranges(self, write: RangeWriter) -> Sequence[kernel.RangeInfo]:
        """Writes ranges to a local folder and uploads them to the store."""
        with self._cache() as cache:
            folder = cache.scratch_folder()
            with translate_errors():
                ranges = write(folder)
            cache.adopt(self.storage_namespace, folder, [each.id for each in ranges])
        return ranges

    def put(self, folder: str, table_ids: Sequence[str]) -> None:
        """Uploads the tables of a folder to the store."""
        with self._cache() as cache:
            cache.adopt(self.storage_namespace, folder, table_ids)

    @contextmanager
    def _cache(self) -> Iterator[TableCache]:
        with (
            WorkFolder("spark") as folder,
            open_store(self.store) as blocks,
        ):
            yield TableCache(blocks, folder, _UNLIMITED_BYTES, verify=kernel.verify_table)


@contextmanager
def open_range_tables(files: TableFiles, ranges: Ranges) -> Iterator[kernel.Tree]:
    """Gives a tree that consists of `ranges`. Raises Gone for a missing table, Corrupt for a
    damaged one, and other errors of `files`, also while the tree is read.
    """
    failures: list[AnabranchError] = []
    with (
        WorkFolder("spark") as folder,
        files.locator() as locate,
        translate_errors(),
    ):
        metarange_id = kernel.write_metarange([kernel.RangeInfo(*each) for each in ranges], folder)

        def path(table_id: str) -> str:
            if table_id == metarange_id:
                return f"{folder}/{table_id}"
            try:
                return locate(table_id)
            except AnabranchError as error:
                failures.append(error)
                raise

        try:
            yield kernel.Tables().tree(metarange_id, path)
        except Exception as error:
            if failures and error is not failures[0]:
                raise failures[0] from error  # Arrow has kept only its text
            raise
