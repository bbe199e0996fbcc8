"""Iceberg tables in folders, written and read by the package pyiceberg.

The table's rows are days by numbers. All branches of a table are written at the same address, a
folder that is filled with the files of a branch first: the addresses in its metadata are then the
same on all branches, as with a catalog that knows them.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import CommitTableResponse, StaticTable, Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Identifier
from pyiceberg.types import LongType, NestedField, StringType

from anabranch.testing.strategy_runs import StrategyRun
from anabranch.versioning.strategies.iceberg.strategy import iceberg_strategy
from support.merged_trees import merge_folders

__all__ = ["FolderCatalog", "IcebergBranches", "rows_table"]

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "day", StringType(), required=False),
)
BY_DAY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))


def rows_table(rows: Mapping[int, str | None]) -> pa.Table:
    """Returns rows as an Arrow table."""
    columns = {"id": pa.array(rows.keys(), pa.int64()), "day": pa.array(rows.values(), pa.string())}
    return pa.table(columns)


BASE = rows_table({1: "mon", 2: "mon", 3: "tue", 4: "wed"})


class FolderCatalog(NoopCatalog):
    """A catalog of one table in a folder, or at an address with `properties` of pyiceberg's files;
    its metadata files have the names of Hadoop tables (`v2.metadata.json`) or those of other
    catalogs (`00002-….metadata.json`). Both have the file `version-hint.text`.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        hadoop: bool = True,
        properties: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__("folder")
        self._address = folder if isinstance(folder, str) else folder.as_uri()
        self.hadoop = hadoop
        self._file_settings = dict(properties)
        self._io = PyArrowFileIO(self._file_settings)

    def create(self, schema: Schema = SCHEMA, spec: PartitionSpec = BY_DAY) -> None:
        """Creates the table."""
        location = self._address
        metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, location, {})
        self._write(metadata, 1)

    def load(self) -> Table:
        """Returns the table."""
        found = StaticTable.from_metadata(self._address, self._file_settings)
        return Table(("t",), found.metadata, found.metadata_location, self._io, self)

    def load_table(self, identifier: str | Identifier) -> Table:  # noqa: ARG002  it has one
        """Returns the table, whatever its name."""
        return self.load()

    def commit_table(
        self,
        table: Table,
        requirements: tuple[TableRequirement, ...],
        updates: tuple[TableUpdate, ...],
    ) -> CommitTableResponse:
        """Writes the next metadata file."""
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(
            table.metadata, updates, metadata_location=table.metadata_location
        )
        name = table.metadata_location.rsplit("/", 1)[1]
        version = int(name.removeprefix("v").split(".")[0].split("-")[0]) + 1
        location = self._write(metadata, version)
        response = {"metadata": metadata, "metadata-location": location}
        return CommitTableResponse.model_validate(response)

    def _write(self, metadata: Any, version: int) -> str:
        name = f"v{version}" if self.hadoop else f"{version:05}-{time.monotonic_ns()}"
        location = f"{self._address}/metadata/{name}.metadata.json"
        ToOutputFile.table_metadata(metadata, self._io.new_output(location))
        hint = str(version) if self.hadoop else name
        output = self._io.new_output(f"{self._address}/metadata/version-hint.text")
        with output.create(overwrite=True) as stream:
            stream.write(hint.encode())
        return location


class IcebergBranches:
    """A table on the branches base, source and destination, where it is the same at first."""

    def __init__(
        self,
        folder: Path,
        *,
        hadoop: bool = True,
        rows: pa.Table | None = BASE,
        **table: Any,
    ) -> None:
        self.folder = folder
        self.table = folder / "table"
        self.table.mkdir(parents=True)
        self.catalog = FolderCatalog(self.table, hadoop=hadoop)
        self._numbers = itertools.count()
        self.catalog.create(**table)
        if rows is not None:
            self.catalog.load().append(rows)
        self.base = self.source = self.destination = self.save()

    def save(self) -> Path:
        """Returns a copy of the table's folder."""
        saved = self.folder / f"saved-{next(self._numbers)}"
        return Path(shutil.copytree(self.table, saved))

    def open(self, saved: Path) -> Table:
        """Makes the table's folder that of a branch, and returns the table."""
        shutil.rmtree(self.table)
        shutil.copytree(saved, self.table)
        return self.catalog.load()

    def change(self, saved: Path, change: Callable[[Table], object]) -> Path:
        """Changes the table of a branch and returns the folder of the result."""
        change(self.open(saved))
        return self.save()

    def change_base(self, change: Callable[[Table], object]) -> None:
        """Changes the table before it is branched."""
        self.base = self.source = self.destination = self.change(self.base, change)

    def change_source(self, change: Callable[[Table], object]) -> None:
        """Changes the table on the source."""
        self.source = self.change(self.source, change)

    def change_destination(self, change: Callable[[Table], object]) -> None:
        """Changes the table on the destination."""
        self.destination = self.change(self.destination, change)

    def merge(self, *sides: Path, **options: object) -> tuple[Path, StrategyRun]:
        """Merges base, source and destination; returns the folder of the result, and conflicts."""
        merged = self.folder / f"merged-{next(self._numbers)}"
        base, source, destination = sides or (self.base, self.source, self.destination)
        run = merge_folders(iceberg_strategy(options), base, source, destination, merged)
        return merged, run

    def rows(self, saved: Path, snapshot_id: int | None = None) -> dict[int, str | None]:
        """Returns the rows on a branch. No number may occur twice."""
        read = self.open(saved).scan(snapshot_id=snapshot_id).to_arrow()
        found = dict(zip(read["id"].to_pylist(), read["day"].to_pylist(), strict=True))
        assert len(found) == read.num_rows
        return found
