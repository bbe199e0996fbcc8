"""A version of a table: its columns, and the files whose rows it has.

Delta Lake and Iceberg metadata are read into this form; what makes rows of it knows neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from anabranch.tables.live_rows.columns import Column
from anabranch.tables.live_rows.file_fields import NameMapping

__all__ = [
    "MAX_LIVE_FILES",
    "EqualityDeletes",
    "LiveFile",
    "LiveTable",
    "PositionDeletes",
    "TableVersion",
    "VectorPlace",
]

MAX_LIVE_FILES = 200_000
"""The most files that a table may have."""


class VectorPlace(msgspec.Struct, frozen=True):
    """Where a deletion vector is: a range of a file, where a length and a checksum enclose it, or
    `inline` bytes. `rows` is how many rows it deletes.
    """

    path: str = ""
    offset: int = 0
    length: int = 0
    inline: bytes = b""
    rows: int = 0


class PositionDeletes(msgspec.Struct, frozen=True, order=True):
    """A Parquet file with positions of deleted rows, and the addresses of their files."""

    path: str


class EqualityDeletes(msgspec.Struct, frozen=True):
    """A Parquet file with values of deleted rows: those of the columns with `field_ids`. It deletes
    rows of files with smaller sequence numbers and the same `scope`, or any if that is "".
    """

    path: str
    field_ids: tuple[int, ...]
    sequence_number: int
    scope: str


class LiveFile(msgspec.Struct, frozen=True, kw_only=True):
    """A data file, by its path in the repository. `address` is what the metadata call it. `values`
    are SQL for columns that have one value in the file, by the names of the columns. `rows` is the
    number of its rows, with deleted ones, `size` that of its bytes, None if they are not known.
    `statistics` are what the metadata of Delta Lake know of its values, in JSON, "" without them.
    """

    path: str
    address: str
    rows: int | None
    size: int | None = None
    values: Mapping[str, str]
    partition: Mapping[str, str | None]
    vector: VectorPlace | None = None
    position_deletes: tuple[PositionDeletes, ...] = ()
    sequence_number: int = 0
    scope: str = ""
    statistics: str = ""

    def has_deletes(self) -> bool:
        """Returns whether rows of the file are deleted by their positions."""
        return self.vector is not None or bool(self.position_deletes)


class TableVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a table's history: `version` is Delta's version or Iceberg's snapshot id, `time`
    milliseconds since 1970. `rows` is how many rows it has; `added_rows` and `removed_rows` are
    what changed, counted as the engine has recorded it. They are None where it has not.
    """

    version: int
    time: int | None
    operation: str
    rows: int | None = None
    added_rows: int | None = None
    removed_rows: int | None = None


class LiveTable(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a table. `by_id` if columns are known in files by their ids. With
    `values_first`, the `values` of a file replace its fields; otherwise they stand in for missing
    ones. `all_columns` are also those of other versions, by id: deletes may concern them.
    `partitioning` are the fields by which new files are partitioned, such as `day(start)`;
    `location` is the address that the metadata have for the table, "" if they have none.
    """

    table_format: Literal["delta", "iceberg"]
    version: int | None
    columns: tuple[Column, ...]
    partition_columns: tuple[str, ...]
    files: Sequence[LiveFile]
    by_id: bool
    values_first: bool
    name_mapping: tuple[NameMapping, ...] = ()
    all_columns: Mapping[int, Column] = {}
    equality_deletes: tuple[EqualityDeletes, ...] = ()
    properties: Mapping[str, Any] = {}
    partitioning: tuple[str, ...] = ()
    location: str = ""
