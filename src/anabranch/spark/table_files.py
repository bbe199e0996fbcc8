"""Where tasks find the tables of a repository: what the driver tells them, small and picklable."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple, Protocol

from anabranch import _kernel as kernel
from anabranch.spark.pieces import Cut
from anabranch.versioning.trees import translated

__all__ = ["FolderTables", "TableFiles", "opened"]


class TableFiles(Protocol):
    """The tables of one repository."""

    def located(self) -> AbstractContextManager[Callable[[str], str]]:
        """Gives, as long as it is entered, a function that returns the path of a table's file by
        its id.
        """


class FolderTables(NamedTuple):
    """Tables in a folder that every worker sees at the same path."""

    folder: str

    @contextmanager
    def located(self) -> Iterator[Callable[[str], str]]:
        """Gives the function: tables are used where they lie."""
        yield lambda table_id: f"{self.folder}/{table_id}"


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
