"""What manifests and lists of manifests know of values: partitions, bounds, and counts of nulls.

Bounds of texts are cut off, the upper one so that it is still one. Bounds keep the type that the
column had when they were written. Those of another form are as if they were not there. Some
writers compare the halves of a UUID as signed numbers, so of bounds of UUIDs the first half counts.

Source: the Iceberg table specification, "Manifests", and the appendix "Binary single-value
serialization".
"""

from __future__ import annotations

import math
import struct
import uuid
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from anabranch.tables.iceberg.avro_times import TimeValue
from anabranch.tables.iceberg.manifests import DATA, FileEntry, ListedManifest
from anabranch.tables.iceberg.partition_transforms import known_values, transform_result
from anabranch.tables.live_rows.columns import Column, Scalar
from anabranch.tables.live_rows.comparable_values import (
    UNITS,
    decimal_digits,
    unscale,
)
from anabranch.tables.live_rows.needs import KnownValues, Needs, ValueRange

__all__ = ["is_file_needed", "is_manifest_needed"]

_VALUES, _NULLS, _LOWER, _UPPER, _NANS = 109, 110, 125, 128, 137
_COUNTED = (_VALUES, _NULLS, _LOWER, _UPPER, _NANS)
_SUMMARIES = 507
_HAS_NULL, _SUMMARY_LOWER, _SUMMARY_UPPER, _HAS_NAN = 509, 510, 511, 518
_FORMS = {
    "BOOLEAN": ("?",),
    "INTEGER": ("<i",),
    "BIGINT": ("<q", "<i"),
    "FLOAT": ("<f",),
    "DOUBLE": ("<d", "<f"),
    "DATE": ("<i",),
    "TIME": ("<q",),
    "TIMESTAMP": ("<q",),
    "TIMESTAMP WITH TIME ZONE": ("<q",),
    "TIMESTAMP_NS": ("<q",),
}
"""The forms of bounds of columns, among them those from before the column was widened."""

_FLOATS = frozenset(("FLOAT", "DOUBLE"))
_MAX_DECIMAL_BYTES = 16
_UUID_BYTES = 16


def is_file_needed(
    entry: FileEntry,
    spec: Mapping[str, Any] | None,
    columns: Mapping[str, Column],
    needs: Needs,
) -> bool:
    """Returns whether rows of a file may be needed, by its partition and the bounds of its values.
    Files of deletes are.
    """
    if entry.content != DATA:
        return True

    def known_of(name: str) -> Sequence[KnownValues]:
        column = columns.get(name)
        sql = _compared_type(column)
        if column is None or not sql:
            return ()
        found = {key: _value(entry.about.get(key), column.field_id) for key in _COUNTED}
        is_null = entry.rows == found[_VALUES] == found[_NULLS]
        lower, upper = (_bound(sql, found[key]) for key in (_LOWER, _UPPER))
        known: list[KnownValues] = [
            _range(sql, lower, upper, has_nan=found[_NANS] != 0, is_null=is_null)
        ]
        for number, transform, result in _fields(spec, column, sql):
            if number in entry.partition_values:
                given = entry.partition_values[number]
                value = _comparable(result, given)
                known.append(known_values(transform, sql, value, value, is_null=given is None))
        return known

    return needs.of(known_of)


def is_manifest_needed(
    manifest: ListedManifest,
    spec: Mapping[str, Any] | None,
    columns: Mapping[str, Column],
    needs: Needs,
) -> bool:
    """Returns whether rows of the files of a manifest may be needed, by the values of its
    partitions. Manifests of deletes are.
    """
    if manifest.is_of_deletes or spec is None:
        return True
    summaries: Sequence[Mapping[str, Any]] = manifest.value(_SUMMARIES) or ()
    fields = spec["fields"]
    if len(summaries) != len(fields):
        return True
    places = {int(field["field-id"]): place for place, field in enumerate(fields)}

    def known_of(name: str) -> Sequence[KnownValues]:
        column = columns.get(name)
        sql = _compared_type(column)
        if column is None or not sql:
            return ()
        known: list[KnownValues] = []
        for number, transform, result in _fields(spec, column, sql):
            given = summaries[places[number]]
            found = {inner: given[key] for inner, key in manifest.summary_names.items()}
            lower, upper = found.get(_SUMMARY_LOWER), found.get(_SUMMARY_UPPER)
            has_nan = found.get(_HAS_NAN) is not False and sql in _FLOATS
            is_null = lower is None is upper and found.get(_HAS_NULL) is True and not has_nan
            bounds = _order(result, _bound(result, lower), _bound(result, upper))
            if transform == "identity":
                known.append(_range(sql, *bounds, has_nan=has_nan, is_null=is_null))
            else:
                known.append(known_values(transform, sql, *bounds, is_null=is_null))
        return known

    return needs.of(known_of)


def _fields(
    spec: Mapping[str, Any] | None, column: Column, sql: str
) -> Iterator[tuple[int, str, str]]:
    """Yields the ids of the partition fields that are made of a column, with their transforms and
    the SQL types of these; those with an unknown transform are left out.
    """
    for field in () if spec is None else spec["fields"]:
        if field.get("source-id") == column.field_id:
            transform = str(field["transform"])
            if result := transform_result(transform, sql):
                yield int(field["field-id"]), transform, result


def _compared_type(column: Column | None) -> str:
    """Returns the SQL type of a column whose bounds are known to be compared as SQL does, else
    "".
    """
    if column is None or column.refusal or not isinstance(column.type, Scalar):
        return ""
    sql = column.type.sql
    is_bytes = sql in ("BLOB", "UUID") or column.type.name == "string"
    return sql if is_bytes or sql in _FORMS or sql.startswith("DECIMAL") else ""


def _value(pairs: Any, field_id: int | None) -> Any:
    return next((each["value"] for each in pairs or () if each["key"] == field_id), None)


def _range(sql: str, lower: Any, upper: Any, *, has_nan: bool, is_null: bool) -> ValueRange:
    least, most = _order(sql, lower, upper)
    return ValueRange(least, most, may_have_nan=has_nan and sql in _FLOATS, is_null=is_null)


def _order(sql: str, lower: Any, upper: Any) -> tuple[Any, Any]:
    """Returns bounds, None instead of those that are none."""
    if lower is not None and upper is not None and lower > upper:
        return None, None
    if sql == "UUID":
        half = _UUID_BYTES // 2
        lower = None if lower is None or upper is None else lower[:half] + bytes(half)
        upper = None if lower is None else upper[:half] + b"\xff" * half
    return lower, upper


def _bound(sql: str, given: Any) -> Any:
    """Returns a bound, None for one that is not known to be one."""
    if given is None:
        return None
    data = bytes(given)
    if sql in ("VARCHAR", "BLOB"):
        return data
    if sql == "UUID":
        return data if len(data) == _UUID_BYTES else None
    if sql.startswith("DECIMAL"):
        is_number = 0 < len(data) <= _MAX_DECIMAL_BYTES
        return int.from_bytes(data, "big", signed=True) if is_number else None
    form = next((each for each in _FORMS[sql] if struct.calcsize(each) == len(data)), None)
    if form is None:
        return None
    (value,) = struct.unpack(form, data)
    return None if isinstance(value, float) and math.isnan(value) else value


def _comparable(sql: str, value: Any) -> Any:
    """Returns a value of a partition as it is compared, None for one of another type."""
    if isinstance(value, TimeValue):
        return _time(sql, value)
    if isinstance(value, Decimal):
        digits = decimal_digits(sql)
        return unscale(value, digits[1]) if digits else None
    if isinstance(value, str):
        return value.encode() if sql == "VARCHAR" else None
    if isinstance(value, uuid.UUID):
        return value.bytes if sql == "UUID" else None
    if isinstance(value, bytes | bytearray):
        return bytes(value) if sql in ("BLOB", "UUID") else None
    is_number = sql in ("INTEGER", "BIGINT") and isinstance(value, int)
    return value if is_number and not isinstance(value, bool) else None


def _time(sql: str, value: TimeValue) -> int | None:
    """Returns a date or timestamp as it is compared, None for one of another type."""
    if value.unit.kind == "date":
        return value.count if sql in ("DATE", "INTEGER") else None
    if value.unit.kind != "timestamp" or sql not in UNITS or sql == "TIME":
        return None
    whole, rest = divmod(value.nanoseconds * UNITS[sql], 10**9)
    return None if rest else whole
