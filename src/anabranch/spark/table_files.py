"""Where tasks find the tables of a repository, and put new ones: what the driver tells them, small
and picklable.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from anabranch import _kernel as kernel
from anabranch.blocks.table_cache import TableCache
from anabranch.errors import NotSupported
from anabranch.spark.pieces import Cut
from anabranch.spark.stores import Opener, opened_store
from anabranch.versioning.trees import translated

__all__ = ["FolderTables", "NewRanges", "StoredTables", "TableFiles", "WritableTables", "opened"]

_ALL_BYTES = 1 << 50
"""What a task has brought stays as long as it runs."""

NewRanges = Callable[[str], Sequence[kernel.RangeInfo]]
"""Writes ranges into a folder, and tells of them."""


class TableFiles(Protocol):
    """The tables of one repository."""

    def located(self) -> AbstractContextManager[Callable[[str], str]]:
        """Gives, as long as it is entered, a function that returns the path of a table's file by
        its id.
        """


class WritableTables(TableFiles, Protocol):
    """Tables that tasks may add to."""

    def written(self, write: NewRanges) -> Sequence[kernel.RangeInfo]:
        """Has ranges written, and returns them when they are in their place."""


class FolderTables(NamedTuple):
    """Tables in a folder that every worker sees at the same path."""

    folder: str

    @contextmanager
    def located(self) -> Iterator[Callable[[str], str]]:
        """Gives the function: tables are used where they lie."""
        yield lambda table_id: f"{self.folder}/{table_id}"

    def written(self, write: NewRanges) -> Sequence[kernel.RangeInfo]:
        """Has ranges written there. Raises NotSupported where the folder is not seen."""
        if not Path(self.folder).is_dir():
            raise NotSupported(f"this worker does not see the lake's folder: {self.folder}")
        with translated():
            return write(self.folder)


class StoredTables(NamedTuple):
    """Tables in an object store, which each worker opens by itself."""

    store: Opener
    storage_namespace: str

    @contextmanager
    def located(self) -> Iterator[Callable[[str], str]]:
        """Gives the function: tables are fetched when they are asked for, and looked through."""
        with self._cache() as cache:
            yield lambda table_id: cache.locate(self.storage_namespace, table_id)

    def written(self, write: NewRanges) -> Sequence[kernel.RangeInfo]:
        """Has ranges written on this machine, and puts them into the store."""
        with self._cache() as cache:
            folder = cache.scratch_folder()
            with translated():
                made = write(folder)
            cache.adopt(self.storage_namespace, folder, [each.id for each in made])
        return made

    def put(self, folder: str, table_ids: Sequence[str]) -> None:
        """Puts tables that lie in a folder into the store."""
        with self._cache() as cache:
            cache.adopt(self.storage_namespace, folder, table_ids)

    @contextmanager
    def _cache(self) -> Iterator[TableCache]:
        with (
            tempfile.TemporaryDirectory(prefix="anabranch-spark-") as folder,
            opened_store(self.store) as blocks,
        ):
            yield TableCache(blocks, folder, _ALL_BYTES, verify=kernel.verify_table)


@contextmanager
def opened(files: TableFiles, ranges: Cut) -> Iterator[kernel.Tree]:
    """Gives a tree of these ranges. Raises Gone for a missing table and Corrupt for a damaged one,
    here and while it is read.
    """
    with (
        tempfile.TemporaryDirectory(prefix="anabranch-spark-") as folder,
        files.located() as locate,
        translated(),
    ):
        metarange_id = kernel.write_metarange(
            [kernel.RangeInfo(*found) for found in ranges], folder
        )

        def path(table_id: str) -> str:
            return f"{folder}/{table_id}" if table_id == metarange_id else locate(table_id)

        yield kernel.Tables().tree(metarange_id, path)
