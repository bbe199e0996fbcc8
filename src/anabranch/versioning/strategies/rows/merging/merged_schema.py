"""The columns of a merged table, and the types in which columns are compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from anabranch.tables.lists import is_list
from anabranch.tables.type_names import type_name
from anabranch.tables.widening import widest
from anabranch.versioning.strategies.rows.columns import merged_names
from anabranch.versioning.strategies.rows.table_format import failure

__all__ = ["common_types", "may_have_null", "merged_schema"]

_FIELD_ID = b"PARQUET:field_id"
_CLASH = "Give the column one type on both sides, or choose a side for this path."


def common_types(
    schemas: Mapping[str, Any], *, whole: Collection[str] = (), clashing: bool = False
) -> dict[str, Any]:
    """Returns the Arrow type that holds the values of a column on all sides, for each. The columns
    `whole` have types whose parts do not change apart. Raises Conflict for types of which none
    holds the values of the other; with `clashing`, such a type is None.
    """
    found: dict[str, Any] = {}
    for name in dict.fromkeys(name for schema in schemas.values() for name in schema.names):
        types = [schema.field(name).type for schema in schemas.values() if name in schema.names]
        try:
            found[name] = _common(name, types, is_whole=name in whole)
        except _ClashError as error:
            if not clashing:
                raise failure(str(error), _CLASH) from None
            found[name] = None
    return found


class _ClashError(Exception):
    """The message names a column and two types."""


def _common(name: str, types: Sequence[Any], *, is_whole: bool) -> Any:
    common = types[0]
    for other in types[1:]:
        wider = None if is_whole and other != common else widest(common, other)
        if wider is None:
            names = f"{type_name(common)} and {type_name(other)}"
            raise _ClashError(f"the column {name!r} has clashing types: {names}")
        common = wider
    return common


def merged_schema(schemas: Mapping[str, Any], *, whole: Collection[str] = ()) -> Any:
    """Returns the Arrow schema of the merge of `base`, `source` and `destination`: a column has the
    destination's properties, with a wider type if the source's does not fit. Raises Conflict.
    """
    import pyarrow as pa  # noqa: PLC0415  an optional library

    ours, theirs = schemas["destination"], schemas["source"]
    sides = {"destination": ours, "source": theirs}
    fields = []
    for name in merged_names(schemas["base"].names, theirs.names, ours.names):
        here = {side: schema for side, schema in sides.items() if name in schema.names}
        field = next(iter(here.values())).field(name)
        types = common_types(
            {side: pa.schema([each.field(name)]) for side, each in here.items()}, whole=whole
        )
        fields.append(field.with_type(types[name]))
    _require_field_ids(fields)
    return pa.schema(fields, metadata=ours.metadata)


def _require_field_ids(fields: Sequence[Any]) -> None:
    """Raises Conflict for two columns with one id: readers by id would take one for the other."""
    found: dict[bytes, str] = {}
    for field in fields:
        number = (field.metadata or {}).get(_FIELD_ID)
        if number is None:
            continue
        if number in found:
            names = f"{found[number]!r} and {field.name!r}"
            raise failure(f"the columns {names} both have the field id {number.decode()}", _CLASH)
        found[number] = field.name


def may_have_null(field: Any) -> bool:
    """Returns whether a column may have null everywhere."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    kind = field.type
    while isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    parts: list[Any] = []
    if kinds.is_map(kind):
        parts = [kind.item_field]
    elif is_list(kind):
        parts = [kind.value_field]
    elif kinds.is_struct(kind):
        parts = list(kind)
    return bool(field.nullable) and all(map(may_have_null, parts))
