"""Columns of Arrow as DuckDB holds them: each value exactly, or as text.

| Arrow type | In DuckDB |
|---|---|
| float16 | FLOAT |
| decimals of up to 38 digits | DECIMAL |
| decimals of more digits | VARCHAR |
| timestamps in nanoseconds with a zone | TIMESTAMP_NS in UTC |
| durations, intervals | VARCHAR |
| dictionaries, run-end encoding, extensions but UUID | as their values |
| dense unions, structs without fields or with equal names but for case | VARCHAR: JSON |
| lists, maps, structs | likewise, with their elements |
| others | the type |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from anabranch.tables.json_values import decode, text_column
from anabranch.tables.sql_names import folded
from anabranch.tables.table import UnreadableTable

__all__ = ["SqlColumn", "sql_array", "sql_column", "unique_names"]

_MAX_DIGITS = 38


class SqlColumn(msgspec.Struct, frozen=True):
    """The Arrow type that DuckDB receives for a type; `note` says what else it is, "" if it is the
    same.
    """

    type: Any
    note: str = ""


def sql_column(kind: Any) -> SqlColumn:
    """Returns how DuckDB holds values of an Arrow type."""
    import pyarrow as pa  # noqa: PLC0415  an optional library
    import pyarrow.types as kinds  # noqa: PLC0415

    if isinstance(kind, pa.BaseExtensionType):
        is_known = kind == pa.uuid() or isinstance(kind, pa.Bool8Type)
        return SqlColumn(kind) if is_known else sql_column(kind.storage_type)
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return sql_column(kind.value_type)
    if kinds.is_float16(kind):
        return SqlColumn(pa.float32())
    if kinds.is_decimal(kind):
        digits = max(kind.precision, kind.precision - kind.scale)
        if digits > _MAX_DIGITS or kind.scale > kind.precision:
            return SqlColumn(pa.string(), "text, as DuckDB has at most 38 digits")
        return SqlColumn(pa.decimal128(digits, max(kind.scale, 0)))
    return _nested_column(kind) if kinds.is_nested(kind) else _temporal(kind)


def _temporal(kind: Any) -> SqlColumn:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_timestamp(kind) and kind.tz is not None and kind.unit == "ns":
        return SqlColumn(pa.timestamp("ns"), "in UTC without a zone, as it has nanoseconds")
    if kinds.is_interval(kind) or kinds.is_duration(kind):
        return SqlColumn(pa.string(), "text, as DuckDB's intervals do not hold each of its values")
    return SqlColumn(kind)


def _nested_column(kind: Any) -> SqlColumn:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    as_json = SqlColumn(pa.string(), "text in JSON")
    if kinds.is_struct(kind):
        names = [folded(field.name) for field in kind]
        if not names or len(set(names)) < len(names) or "" in names:
            return as_json
        parts = [sql_column(field.type) for field in kind]
        fields = [pa.field(field.name, part.type) for field, part in zip(kind, parts, strict=True)]
        return SqlColumn(pa.struct(fields), _first_note(parts))
    if kinds.is_map(kind):
        parts = [sql_column(kind.key_type), sql_column(kind.item_type)]
        return SqlColumn(pa.map_(parts[0].type, parts[1].type), _first_note(parts))
    if kinds.is_union(kind):
        return as_json
    part = sql_column(kind.value_type)
    return SqlColumn(pa.large_list(part.type), part.note)


def _first_note(parts: Sequence[SqlColumn]) -> str:
    return next((part.note for part in parts if part.note), "")


def sql_array(array: Any) -> Any:
    """Returns an Arrow array as the type of its `sql_column`."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    kind = array.type
    target = sql_column(kind).type
    if kind == target and not _has_maps(kind):
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return sql_array(array.storage)
    if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        return sql_array(decode(array))
    if kinds.is_nested(kind) and not kinds.is_string(target):
        return _nested_array(array, target)
    if kinds.is_string(target):
        return pa.array(text_column(array), pa.string())
    return array.cast(target)


def _nested_array(array: Any, target: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_struct(target):
        children = [sql_array(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(target), mask=array.is_null())
    missing = array.is_null()
    if kinds.is_map(target):
        lengths = pc.list_value_length(array.cast(_entries_type(array.type)))
        entries = pc.list_flatten(array.cast(_entries_type(array.type)))
        _check_keys(lengths, entries)
        keys, items = (sql_array(child) for child in entries.flatten())
        offsets = _offsets(lengths, missing)
        made = pa.MapArray.from_arrays(offsets, keys, items, type=target)
    else:
        lengths = pc.list_value_length(array)
        offsets = _offsets(lengths, missing)
        values = sql_array(pc.list_flatten(array))
        made = pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), values, type=target)
    return made


def _has_maps(kind: Any) -> bool:
    import pyarrow.types as kinds  # noqa: PLC0415

    if kinds.is_map(kind):
        return True
    if kinds.is_struct(kind):
        return any(_has_maps(field.type) for field in kind)
    return bool(kinds.is_nested(kind) and not kinds.is_union(kind) and _has_maps(kind.value_type))


def _check_keys(lengths: Any, entries: Any) -> None:
    """Raises UnreadableTable if a map has a key twice, given the lengths of maps and all their
    entries.
    """
    import numpy as np  # noqa: PLC0415  pyarrow needs it for this as well
    import pyarrow as pa  # noqa: PLC0415

    keys = sql_array(entries.field(0))
    if pa.types.is_nested(keys.type):
        return
    counts = lengths.fill_null(0).to_numpy(zero_copy_only=False)
    parents = np.repeat(np.arange(len(counts)), counts)
    pairs = pa.table({"parent": parents, "key": keys})
    if pairs.group_by(["parent", "key"]).aggregate([]).num_rows < pairs.num_rows:
        raise UnreadableTable("a map has a key twice, which DuckDB's maps cannot have")


def _entries_type(kind: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    return pa.list_(pa.struct([kind.key_field, kind.item_field]))


def _offsets(lengths: Any, missing: Any) -> Any:
    """Returns offsets of lists of these lengths, null where a list is."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    ends = pc.cumulative_sum(pc.fill_null(lengths, 0).cast(pa.int64()))
    starts = pa.concat_arrays([pa.array([0], pa.int64()), ends]).cast(pa.int32())
    is_null = pa.concat_arrays([missing, pa.array([False])])
    return pc.if_else(is_null, pa.scalar(None, pa.int32()), starts)


def unique_names(names: Sequence[str]) -> list[str]:
    """Returns names of columns as SQL tells them apart: `column0` for an empty one, and a number
    after one that is there already.
    """
    taken: set[str] = set()
    given = set(map(folded, names))
    result = []
    for place, name in enumerate(names):
        wanted = name or f"column{place}"
        shown, number = wanted, 0
        while folded(shown) in taken or (shown != name and folded(shown) in given):
            number += 1
            shown = f"{wanted}_{number}"
        taken.add(folded(shown))
        result.append(shown)
    return result
