"""The form of a Parquet file: what its values do not say, and a merge should keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from anabranch.tables.lists import is_list

__all__ = ["ColumnForm", "FileForm", "file_form", "leaf_count"]

_ARROW_SCHEMA = b"ARROW:schema"
_DICTIONARIES = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_KEPT_ENCODINGS = {
    "DELTA_BINARY_PACKED",
    "DELTA_LENGTH_BYTE_ARRAY",
    "DELTA_BYTE_ARRAY",
    "BYTE_STREAM_SPLIT",
}
_DEFAULT_GROUP_ROWS = 1 << 20


class ColumnForm(msgspec.Struct, frozen=True):
    """How one column of Parquet is compressed and encoded."""

    codec: str
    has_dictionary: bool
    encoding: str | None
    has_statistics: bool


DEFAULT = ColumnForm("SNAPPY", has_dictionary=True, encoding=None, has_statistics=True)


class FileForm(msgspec.Struct, frozen=True, kw_only=True):
    """The form of a file. `columns` are those of Parquet below each column of the table."""

    columns: Mapping[str, Sequence[ColumnForm]]
    group_rows: int
    has_arrow_schema: bool
    has_page_index: bool
    has_integer_decimals: bool
    default: ColumnForm
    """The form of columns that the file does not have."""


def file_form(metadata: Any, schema: Any) -> FileForm:
    """Returns the form of a file, given its metadata and its Arrow schema."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    group = next((each for each in groups if each.num_rows), groups[0] if groups else None)
    columns: dict[str, list[ColumnForm]] = {}
    at = 0
    for field in schema:
        leaves = range(at, at + leaf_count(field.type))
        at += len(leaves)
        if group is not None:
            columns[field.name] = [_column_form(group.column(leaf)) for leaf in leaves]
    forms = [form for each in columns.values() for form in each]
    codecs = {form.codec for form in forms}
    return FileForm(
        columns=columns,
        group_rows=max((each.num_rows for each in groups), default=0) or _DEFAULT_GROUP_ROWS,
        has_arrow_schema=_ARROW_SCHEMA in (metadata.metadata or {}),
        has_page_index=group is not None
        and any(group.column(leaf).has_column_index for leaf in range(group.num_columns)),
        has_integer_decimals=_has_integer_decimals(metadata.schema),
        default=ColumnForm(
            codecs.pop() if len(codecs) == 1 else DEFAULT.codec,
            has_dictionary=any(form.has_dictionary for form in forms) or not forms,
            encoding=None,
            has_statistics=any(form.has_statistics for form in forms) or not forms,
        ),
    )


def _column_form(chunk: Any) -> ColumnForm:
    encodings = set(chunk.encodings)
    has_dictionary = bool(encodings & _DICTIONARIES)
    others = sorted(encodings & _KEPT_ENCODINGS)
    codec = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}.get(chunk.compression, chunk.compression)
    return ColumnForm(
        codec,
        has_dictionary,
        others[0] if others and not has_dictionary else None,
        chunk.is_stats_set,
    )


def _has_integer_decimals(schema: Any) -> bool:
    columns = (schema.column(number) for number in range(len(schema)))
    return any(
        column.logical_type.type == "DECIMAL" and column.physical_type in ("INT32", "INT64")
        for column in columns
    )


def leaf_count(kind: Any) -> int:
    """Returns how many columns of Parquet a type has."""
    import pyarrow as pa  # noqa: PLC0415  an optional library
    import pyarrow.types as kinds  # noqa: PLC0415

    if isinstance(kind, pa.BaseExtensionType):
        return leaf_count(kind.storage_type)
    if kinds.is_map(kind):
        return leaf_count(kind.key_type) + leaf_count(kind.item_type)
    if kinds.is_struct(kind):
        return sum(leaf_count(field.type) for field in kind)
    return leaf_count(kind.value_type) if is_list(kind) else 1
