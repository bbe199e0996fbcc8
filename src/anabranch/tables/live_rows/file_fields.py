"""The fields of a data file, as its footer describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import msgspec

from anabranch.errors.dependency_errors import reason_of
from anabranch.tables.live_rows.refusals import unreadable

__all__ = ["FileField", "FileForm", "NameMapping", "read_form"]

_FIELD_ID = b"PARQUET:field_id"


class NameMapping(msgspec.Struct, frozen=True, rename="kebab"):
    """The id of a field in files without ids, by its names there."""

    names: tuple[str, ...] = ()
    field_id: int | None = None
    fields: tuple[NameMapping, ...] = ()


class FileField(msgspec.Struct, frozen=True):
    """A field. `kind` is the name of its Arrow type without parameters; lists and maps have one
    and two parts.
    """

    name: str
    field_id: int | None
    kind: str
    type_name: str
    parts: tuple[FileField, ...]


class FileForm(msgspec.Struct, frozen=True):
    """The fields of a file and its number of rows. `has_ids` if fields have ids."""

    fields: tuple[FileField, ...]
    rows: int
    has_ids: bool


def read_form(
    path: str, stream: BinaryIO, mapping: Sequence[NameMapping] | None = None
) -> FileForm:
    """Returns the form of a Parquet file. `mapping` gives ids to fields if the file has none.
    Raises Invalid, with the path, for a damaged file.
    """
    import pyarrow as pa  # noqa: PLC0415  an optional library, slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        with pq.ParquetFile(stream) as file:
            fields = tuple(_fields(file.schema_arrow))
            rows = file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise unreadable(f"{path} is not a Parquet file: {reason_of(error)}") from error
    if mapping and not any(map(_has_ids, fields)):
        fields = _with_ids(fields, mapping)
    return FileForm(fields, rows, any(map(_has_ids, fields)))


def _fields(parent: Any) -> Iterator[FileField]:
    """Yields the parts of an Arrow schema or type."""
    for field in parent:
        yield _field(field)


def _field(field: Any) -> FileField:
    import pyarrow as pa  # noqa: PLC0415

    found = (field.metadata or {}).get(_FIELD_ID)
    arrow_type = field.type
    if isinstance(arrow_type, pa.BaseExtensionType):
        kind = arrow_type.extension_name.rpartition(".")[2]
    elif pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
        kind = str(arrow_type)
    else:
        kind = str(arrow_type).partition("<")[0].partition("[")[0].partition("(")[0]
    parts: tuple[FileField, ...] = ()
    if pa.types.is_struct(arrow_type):
        parts = tuple(_fields(arrow_type))
    elif pa.types.is_map(arrow_type):
        parts = (_field(arrow_type.key_field), _field(arrow_type.item_field))
    elif pa.types.is_nested(arrow_type) and arrow_type.num_fields == 1:
        parts, kind = (_field(arrow_type.field(0)),), "list"
    return FileField(
        field.name, None if found is None else int(found), kind, str(arrow_type), parts
    )


def _has_ids(field: FileField) -> bool:
    return field.field_id is not None or any(map(_has_ids, field.parts))


def _with_ids(fields: Sequence[FileField], mapping: Sequence[NameMapping]) -> tuple[FileField, ...]:
    by_name: Mapping[str, NameMapping] = {name: each for each in mapping for name in each.names}
    found = []
    for field in fields:
        mapped = by_name.get(field.name, NameMapping())
        parts = field.parts
        if field.kind == "map":
            inner = {name: each for each in mapped.fields for name in each.names}
            named = zip(("key", "value"), parts, strict=True)
            parts = tuple(_rename(part, inner.get(name)) for name, part in named)
        elif field.kind == "list":
            inner = {name: each for each in mapped.fields for name in each.names}
            parts = (_rename(parts[0], inner.get("element")),)
        else:
            parts = _with_ids(parts, mapped.fields)
        found.append(_field_with(field, mapped.field_id, parts))
    return tuple(found)


def _rename(field: FileField, mapped: NameMapping | None) -> FileField:
    known = mapped or NameMapping()
    return _field_with(field, known.field_id, _with_ids(field.parts, known.fields))


def _field_with(field: FileField, field_id: int | None, parts: tuple[FileField, ...]) -> FileField:
    return FileField(field.name, field_id, field.kind, field.type_name, parts)
