"""Delta tables in folders, written and read by the package deltalake.

The table is `data/events`, partitioned by `day`; its rows are days by numbers.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from anabranch.versioning.strategies.contract import ContentConflict
from anabranch.versioning.strategies.delta.strategy import delta_strategy
from support.merged_trees import branch_folder, merge_folders, read_tree

__all__ = [
    "LOG",
    "DeltaBranches",
    "append",
    "commit_actions",
    "delete",
    "log_files",
    "log_names",
    "open_table",
    "overwrite",
    "rows",
    "table_folder",
    "write_commit",
]

LOG = "data/events/_delta_log"
Rows = Mapping[int, str | None]


class DeltaBranches:
    """The table in the folders base, source and destination, where it is the same at first."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count()
        self.base = folder / "base"
        append(self.base, {1: "mon", 2: "mon", 3: "tue", 4: "wed"})
        self.fork()

    def fork(self) -> None:
        """Branches the base, after it was changed."""
        number = next(self._numbers)
        self.source = branch_folder(self.base, f"source-{number}")
        self.destination = branch_folder(self.base, f"destination-{number}")

    def merge(self, *sides: Path, **options: object) -> tuple[Path, Sequence[ContentConflict]]:
        """Merges base, source and destination; returns the folder of the result, and conflicts."""
        merged = self.folder / f"merged-{next(self._numbers)}"
        base, source, destination = sides or (self.base, self.source, self.destination)
        run = merge_folders(delta_strategy(options), base, source, destination, merged)
        return merged, run.conflicts


def table_folder(folder: Path) -> Path:
    """Returns the folder of the table."""
    return folder / "data" / "events"


def append(folder: Path, added: Rows, **options: Any) -> None:
    """Appends rows."""
    columns = {
        "id": pa.array(added.keys(), pa.int64()),
        "day": pa.array(added.values(), pa.string()),
    }
    options = {"mode": "append", "partition_by": ["day"], **options}
    write_deltalake(table_folder(folder), pa.table(columns), **options)


def overwrite(folder: Path, day: str, numbers: Iterable[int]) -> None:
    """Replaces the rows of a day."""
    append(folder, dict.fromkeys(numbers, day), mode="overwrite", predicate=f"day = '{day}'")


def delete(folder: Path, predicate: str) -> None:
    """Deletes rows."""
    open_table(folder).delete(predicate)


def open_table(folder: Path, **options: Any) -> DeltaTable:
    """Opens the table."""
    return DeltaTable(table_folder(folder), **options)


def rows(folder: Path, **options: Any) -> dict[int, str | None]:
    """Returns the rows. No number may occur twice."""
    read = open_table(folder, **options).to_pyarrow_table()
    found = dict(zip(read["id"].to_pylist(), read["day"].to_pylist(), strict=True))
    assert len(found) == read.num_rows
    return found


def log_files(folder: Path) -> dict[str, bytes]:
    """Returns the files of the log by their paths."""
    return {path: content for path, content in read_tree(folder).items() if path.startswith(LOG)}


def log_names(folder: Path) -> list[str]:
    """Returns the names of the files of the log."""
    return sorted(file.name for file in (folder / LOG).iterdir())


def commit_actions(folder: Path, version: int) -> list[dict[str, Any]]:
    """Returns the actions of a commit."""
    text = (folder / LOG / f"{version:020}.json").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def write_commit(folder: Path, version: int, *actions: Mapping[str, Any]) -> None:
    """Writes a commit."""
    text = "".join(f"{json.dumps(action)}\n" for action in actions)
    (folder / LOG / f"{version:020}.json").write_text(text, encoding="utf-8")
