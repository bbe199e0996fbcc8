"""Parquet files of tables: opened as Arrow reads them, written in the form of the destination."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from anabranch.tables.lists import is_list
from anabranch.tables.parquet.footers import SideFooter, merged_metadata
from anabranch.tables.parquet.form import file_form
from anabranch.tables.parquet.schema_elements import (
    Element,
    is_opaque,
    replace_annotations,
)
from anabranch.tables.parquet.writer import open_writer
from anabranch.tables.table import UnreadableTable
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.columns import require_usable
from anabranch.versioning.strategies.rows.merging.cell_decisions import CellDecisions
from anabranch.versioning.strategies.rows.merging.merged_rows import MergedRows
from anabranch.versioning.strategies.rows.scanned_sides import read_error
from anabranch.versioning.strategies.rows.table_format import failure, require_exact

if TYPE_CHECKING:
    from anabranch.tables.parquet.parquet_table import ParquetTable

__all__ = ["ParquetFormat"]


class ParquetFormat:
    """Parquet: types, INT96, codecs, dictionaries, field ids and sizes of row groups are kept."""

    name = "Parquet"
    merges = True

    def open(self, side: str, version: ObjectVersion, folder: str) -> ParquetTable:  # noqa: ARG002
        """Returns the table of a file. Raises Conflict for one that cannot be read."""
        import pyarrow as pa  # noqa: PLC0415  an optional library

        from anabranch.tables.parquet.parquet_table import ParquetTable  # noqa: PLC0415

        try:
            table = ParquetTable(pa.OSFile(version.path()))
            table.elements  # noqa: B018  what is read later must not fail then
        except (pa.ArrowException, OSError, ValueError, UnreadableTable) as error:
            raise read_error(side, self.name, error) from error
        require_exact(side, table.notes)
        require_usable(side, table.schema.names)
        return table

    def whole_columns(self, tables: Mapping[str, ParquetTable]) -> set[str]:
        """Returns the columns whose parts do not change apart: VARIANT."""
        return {
            name
            for table in tables.values()
            for name, element in table.elements.items()
            if is_opaque(element)
        }

    def write(
        self,
        decisions: CellDecisions,
        tables: Mapping[str, ParquetTable],
        schema: Any,
        output: BinaryIO,
        folder: str,
    ) -> None:
        """Writes the merge of tables by the decisions about them, in the destination's form."""
        destination, source = tables["destination"], tables["source"]
        rows = MergedRows(decisions, tables, schema, folder)
        is_int96, schema = _with_timestamps(rows.schema, destination, source)
        entries = merged_metadata(
            schema,
            SideFooter(destination.schema, destination.int96),
            SideFooter(source.schema, source.int96),
            rows.count,
        )
        schema = schema.with_metadata(entries or None)
        form = file_form(destination.metadata, destination.schema)
        other = file_form(source.metadata, source.schema)
        stores = form.has_arrow_schema or other.has_arrow_schema
        options = {"int96": is_int96, "stores_schema": stores}
        with tempfile.TemporaryFile(dir=folder) as stream:
            with open_writer(stream, schema, form, **options) as writer:
                for batch in rows.batches():
                    writer.write(_cast(batch, schema))
            replace_annotations(stream, _originals(schema, destination, source))
            stream.seek(0)
            shutil.copyfileobj(stream, output)


def _originals(
    schema: Any, destination: ParquetTable, source: ParquetTable
) -> Mapping[str, Element]:
    """Returns the columns of the sides from which those of the merge have their types. A wider type
    has annotations of its own.
    """
    found: dict[str, Element] = {}
    for side in (source, destination):
        elements = side.elements
        for field in schema:
            name = field.name
            if name not in elements or name not in side.schema.names:
                continue
            if _value_type(side.schema.field(name).type) == _value_type(field.type):
                found[name] = elements[name]
    return found


def _value_type(kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _with_timestamps(
    schema: Any, destination: ParquetTable, source: ParquetTable
) -> tuple[bool, Any]:
    """Returns whether timestamps are written as INT96, which Arrow does for all or none, and the
    schema. Beside others, INT96 becomes what Spark reads as the same: microseconds in UTC. Raises
    Conflict for those within other types.
    """
    import pyarrow as pa  # noqa: PLC0415

    ours = set(destination.schema.names)
    kept = destination.int96 | {name for name in source.int96 if name not in ours}
    named = [field.name for field in schema if any(_timestamps(field.type))]
    old = [name for name in named if name in kept]
    if len(old) in (0, len(named)):
        return bool(old), schema
    for name in old:
        if not pa.types.is_timestamp(schema.field(name).type):
            raise failure(
                f"the column {name!r} has INT96 timestamps within another type, and other columns "
                "have timestamps of another form, which cannot be written together"
            )
        field = schema.field(name).with_type(pa.timestamp("us", "UTC"))
        schema = schema.set(schema.get_field_index(name), field)
    return False, schema


def _timestamps(kind: Any) -> Iterator[Any]:
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_timestamp(kind):
        yield kind
    elif kinds.is_map(kind):
        yield from _timestamps(kind.key_type)
        yield from _timestamps(kind.item_type)
    elif kinds.is_struct(kind):
        for field in kind:
            yield from _timestamps(field.type)
    elif is_list(kind) or kinds.is_dictionary(kind):
        yield from _timestamps(kind.value_type)


def _cast(batch: Any, schema: Any) -> Any:
    """Returns a batch with the types of the file. Raises Conflict for nanoseconds that would be
    cut.
    """
    import pyarrow as pa  # noqa: PLC0415

    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except pa.ArrowInvalid as error:
            raise failure(
                f"the column {field.name!r} has INT96 timestamps with nanoseconds, which cannot be "
                "written beside timestamps of another form"
            ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)
