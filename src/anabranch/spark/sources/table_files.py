"""The tables of a repository as tasks read and write them; small and picklable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.errors import NotSupported
from anabranch.spark.planning.partition_planning import Cut
from anabranch.spark.sources.stores import Opener, open_store
from anabranch.versioning.trees import translate_errors
from anabranch.work_folders import WorkFolder

__all__ = [
    "FolderTables",
    "NewRanges",
    "StoredTables",
    "TableFiles",
    "WritableTables",
    "open_range_tables",
]

_ALL_BYTES = 1 << 50
"""A task's files exist until it ends."""

NewRanges = Callable[[str], Sequence[kernel.RangeInfo]]
"""Writes ranges to a folder and returns them."""


class TableFiles(Protocol):
    """The tables of one repository."""

    def located(self) -> AbstractContextManager[Callable[[str], str]]:
        """Gives a function that returns the path of a table's file by its id. The path is valid
        until the context ends.
        """


class WritableTables(TableFiles, Protocol):
    """Tables that tasks may add to."""

    def written(self, write: NewRanges) -> Sequence[kernel.RangeInfo]:
        """Writes ranges and returns them when they are stored."""


class FolderTables(NamedTuple):
    """Tables in a folder that every worker sees at the same path."""

    folder: str

    @contextmanager
    def located(self) -> Iterator[Callable[[str], str]]:
        """Gives the function; tables are used in place."""
        yield lambda table_id: f"{self.folder}/{table_id}"

    def written(self, write: NewRanges) -> Sequence[kernel.RangeInfo]:
        """Writes ranges to the folder. Raises NotSupported if the worker does not see it."""
        if not Path(self.folder).is_dir():
            raise NotSupported(f"this worker does not see the lake's folder: {self.folder}")
        with translate_errors():
            return write(self.folder)


class StoredTables(NamedTuple):
    """Tables in an object store, which each worker opens itself."""

    store: Opener
    storage_namespace: str

    @contextmanager
    def located(self) -> Iterator[Callable[[str], str]]:
        """Gives the function; tables are downloaded at their first use and verified."""
        with self._cache() as cache:
            yield lambda table_id: cache.locate(self.storage_namespace, table_id)

    def written(self, write: NewRanges) -> Sequence[kernel.RangeInfo]:
        """Writes ranges on this machine and uploads them to the store."""
        with self._cache() as cache:
            folder = cache.scratch_folder()
            with translate_errors():
                made = write(folder)
            cache.adopt(self.storage_namespace, folder, [each.id for each in made])
        return made

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
            yield TableCache(blocks, folder, _ALL_BYTES, verify=kernel.verify_table)


@contextmanager
def open_range_tables(files: TableFiles, ranges: Cut) -> Iterator[kernel.Tree]:
    """Gives a tree of these ranges. Raises Gone for a missing table and Corrupt for a damaged one,
    also while the tree is read.
    """
    with (
        WorkFolder("spark") as folder,
        files.located() as locate,
        translate_errors(),
    ):
        metarange_id = kernel.write_metarange(
            [kernel.RangeInfo(*found) for found in ranges], folder
        )

        def path(table_id: str) -> str:
            return f"{folder}/{table_id}" if table_id == metarange_id else locate(table_id)

        yield kernel.Tables().tree(metarange_id, path)
