"""Tables of Delta Lake and Iceberg, in folders or of the catalog: their columns, versions,
partitions, first rows.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from anabranch.access.policies.permissions import Action
from anabranch.converter import Converter
from anabranch.model.uri import LakeUri
from anabranch.pipelines.queries.limits import MAX_ROWS
from anabranch.rest.operations.queries.queries import QueryResult
from anabranch.rest.operations.queries.table_needs import of_shown_table
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Need, Operation
from anabranch.rest.protocol.parameters import AtRef
from anabranch.rest.protocol.resources import on_repository

__all__ = ["OPERATIONS"]


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table; `type` is that of its format. Values of a column that is not `readable`
    are not shown.
    """

    name: str
    type: str
    required: bool
    is_partition: bool
    readable: bool


class TableVersion(msgspec.Struct, frozen=True):
    """A version of a table: of Delta, or the id of a snapshot of Iceberg, which has up to 19
    digits; `time` is in milliseconds since 1970. Rows are counted as its engine has recorded them,
    and null where it has not.
    """

    version: str
    time: int | None
    operation: str
    rows: int | None
    added_rows: int | None
    removed_rows: int | None


class TablePartition(msgspec.Struct, frozen=True):
    """A partition by the values of its fields, with its numbers of files, rows and bytes. Rows that
    files of deletes leave out count.
    """

    values: dict[str, str | None]
    files: int
    rows: int | None
    size_bytes: int | None


class TablePreview(QueryResult, frozen=True, kw_only=True):
    """A version of a table and its first rows. `versions` are the last 100, the newest first;
    `partitions` the first 1,000; `partitioning` are the fields of new files, such as `day(start)`.
    `row_count` and `size_bytes`, of the data files, are null if the metadata do not tell them.
    `metadata_path` is that of the last metadata file of Iceberg, by which the table of a folder is
    registered; empty for Delta.
    """

    format: Literal["delta", "iceberg"]
    version: str
    schema: list[TableColumn]
    versions: list[TableVersion]
    partitions: list[TablePartition]
    partitioning: list[str]
    properties: dict[str, str]
    location: str
    files: int
    size_bytes: int | None
    row_count: int | None
    metadata_path: str


_TO_PREVIEW = Converter(TablePreview)


class PreviewTable(AtRef, frozen=True, kw_only=True):
    """Parameters of previewTable."""

    path: Annotated[
        str,
        Meta(
            min_length=1,
            description="the folder of a table, or the path of the record of one of the Iceberg "
            "catalog, as listTables returns it",
        ),
    ]
    rows: Annotated[int, Meta(ge=1, le=MAX_ROWS, description="the most rows to return")] = 100
    version: Annotated[
        str,
        Meta(
            pattern="^[0-9]{0,19}$",
            description="a version of Delta, or the id of a snapshot of Iceberg; else the last",
        ),
    ] = ""


def preview_table(call: Call[PreviewTable, None]) -> TablePreview:
    """Returns a version of a table. Each object that it reads is authorized on its own."""
    params = call.params
    result = call.services.queries.preview_table(
        call.authenticated,
        LakeUri(params.repository, params.ref, params.path),
        version=int(params.version) if params.version else None,
        max_rows=params.rows,
    )
    return _TO_PREVIEW.convert(result)


OPERATIONS = (
    Operation(
        id="previewTable",
        tag="objects",
        method="GET",
        path="/repositories/{repository}/refs/{ref}/tables/preview",
        summary="get the columns, versions and first rows of a Delta or Iceberg table",
        permission=(Need(Action.LIST_OBJECTS, on_repository, of=of_shown_table),),
        params=PreviewTable,
        response=TablePreview,
        handler=preview_table,
    ),
)
