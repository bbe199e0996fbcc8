"""What manifests and lists of manifests know of values: bounds, and counts of nulls and NaN.

Bounds of texts are cut off, the upper one so that it is still one. Bounds keep the type that the
column had when they were written. Those of another form are as if they were not there.

Source: the Iceberg table specification, "Manifests", and the appendix "Binary single-value
serialization".
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.tables.iceberg.manifests import DATA, FileEntry, ListedManifest
from anabranch.tables.iceberg.table_schema import identity_fields
from anabranch.tables.live_rows.columns import Column, Scalar
from anabranch.tables.live_rows.needs import Needs, ValueRange

__all__ = ["is_file_needed", "is_manifest_needed"]

_VALUES, _NULLS, _LOWER, _UPPER, _NANS = 109, 110, 125, 128, 137
_COUNTED = (_VALUES, _NULLS, _LOWER, _UPPER, _NANS)
_CONTENT, _SUMMARIES = 517, 507
_HAS_NULL, _SUMMARY_LOWER, _SUMMARY_UPPER, _HAS_NAN = 509, 510, 511, 518
_FORMS = {
    "BOOLEAN": ("?",),
    "INTEGER": ("<i",),
    "BIGINT": ("<q", "<i"),
    "FLOAT": ("<f",),
    "DOUBLE": ("<d", "<f"),
    "DATE": ("<i",),
    "TIMESTAMP": ("<q",),
    "TIMESTAMP WITH TIME ZONE": ("<q",),
    "TIMESTAMP_NS": ("<q",),
}
"""The forms of bounds of columns, among them those from before the column was widened."""

_FLOATS = frozenset(("FLOAT", "DOUBLE"))
_MAX_DECIMAL_BYTES = 16


def is_file_needed(entry: FileEntry, columns: Mapping[str, Column], needs: Needs) -> bool:
    """Returns whether rows of a file may be needed. Files of deletes are."""
    if entry.content != DATA:
        return True

    def range_of(name: str) -> ValueRange | None:
        column = columns.get(name)
        sql = _compared_type(column)
        if column is None or not sql:
            return None
        found = {key: _value(entry.about.get(key), column.field_id) for key in _COUNTED}
        is_null = entry.rows == found[_VALUES] == found[_NULLS]
        return _range(sql, found[_LOWER], found[_UPPER], found[_NANS] != 0, is_null)

    return needs.of(range_of)


def is_manifest_needed(
    manifest: ListedManifest,
    spec: Mapping[str, Any] | None,
    columns: Mapping[str, Column],
    needs: Needs,
) -> bool:
    """Returns whether rows of the files of a manifest may be needed, by the values that columns
    have in its partitions. Manifests of deletes are.
    """
    if manifest.value(_CONTENT) or spec is None:
        return True
    summaries: Sequence[Mapping[str, Any]] = manifest.value(_SUMMARIES) or ()
    fields = spec["fields"]
    if len(summaries) != len(fields):
        return True
    places = {int(field["field-id"]): place for place, field in enumerate(fields)}
    by_source = {source: places[number] for number, source in identity_fields(spec)}

    def range_of(name: str) -> ValueRange | None:
        column = columns.get(name)
        sql = _compared_type(column)
        if column is None or not sql or column.field_id not in by_source:
            return None
        given = summaries[by_source[column.field_id]]
        found = {number: given[inner] for number, inner in manifest.summary_names.items()}
        lower, upper = found.get(_SUMMARY_LOWER), found.get(_SUMMARY_UPPER)
        has_nan = found.get(_HAS_NAN) is not False
        is_null = lower is None is upper and found.get(_HAS_NULL) is True
        return _range(sql, lower, upper, has_nan, is_null and not (has_nan and sql in _FLOATS))

    return needs.of(range_of)


def _compared_type(column: Column | None) -> str:
    """Returns the SQL type of a column whose bounds are known to be compared as SQL does, else
    "".
    """
    if column is None or column.refusal or not isinstance(column.type, Scalar):
        return ""
    sql = column.type.sql
    is_known = sql in _FORMS or sql.startswith("DECIMAL") or column.type.name == "string"
    return sql if is_known else ""


def _value(pairs: Any, field_id: int | None) -> Any:
    return next((each["value"] for each in pairs or () if each["key"] == field_id), None)


def _range(sql: str, lower: Any, upper: Any, has_nan: bool, is_null: bool) -> ValueRange:
    least = None if lower is None else _bound(sql, bytes(lower))
    most = None if upper is None else _bound(sql, bytes(upper))
    if least is not None and most is not None and least > most:
        least = most = None
    return ValueRange(least, most, may_have_nan=has_nan and sql in _FLOATS, is_null=is_null)


def _bound(sql: str, data: bytes) -> Any:
    """Returns a bound, None for one that is not known to be one."""
    if sql == "VARCHAR":
        return data
    if sql.startswith("DECIMAL"):
        is_number = 0 < len(data) <= _MAX_DECIMAL_BYTES
        return int.from_bytes(data, "big", signed=True) if is_number else None
    form = next((each for each in _FORMS[sql] if struct.calcsize(each) == len(data)), None)
    if form is None:
        return None
    (value,) = struct.unpack(form, data)
    return None if isinstance(value, float) and math.isnan(value) else value
