"""What other programs write about a Parquet file's schema into its footer, after a merge.

Spark and pandas take their types from there, and parquet-avro and Iceberg their schemas, so that an
entry of another schema hides columns, or makes them unreadable. An entry is kept if the schema is
still that of the file that it comes from; otherwise Spark's and pandas' are written anew, and the
others are left out. Readers then use the schema of Parquet itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["SideFooter", "merged_metadata"]

_SPARK = b"org.apache.spark.sql.parquet.row.metadata"
_PANDAS = b"pandas"
_GEO = b"geo"
_SCHEMAS = (b"iceberg.schema", b"parquet.avro.schema", b"avro.schema")


class SideFooter(msgspec.Struct, frozen=True):
    """The schema of one version of a file, with its metadata; `int96` are the columns with INT96
    timestamps.
    """

    schema: Any
    int96: frozenset[str] = frozenset()

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        """The entries of the footer."""
        return dict(self.schema.metadata or {})


def merged_metadata(
    schema: Any, destination: SideFooter, source: SideFooter, rows: int
) -> dict[bytes, bytes]:
    """Returns the footer's entries for a merged file of this schema and so many rows: those of the
    destination, with what describes the schema as it is now.
    """
    merged = dict(destination.metadata)
    for side in (destination, source):
        if _is_same(schema, side.schema):
            for key in (_SPARK, *_SCHEMAS):
                _set(merged, key, side.metadata.get(key))
            break
    else:
        for key in _SCHEMAS:
            merged.pop(key, None)
        if _SPARK in merged:
            _set(merged, _SPARK, _spark_schema(schema, destination, source))
    if _PANDAS in merged:
        _set(merged, _PANDAS, _pandas(schema, destination, source, rows))
    if _GEO in merged:
        _set(merged, _GEO, _geo(schema, destination, source))
    return merged


def _set(entries: dict[bytes, bytes], key: bytes, value: bytes | None) -> None:
    if value is None:
        entries.pop(key, None)
    else:
        entries[key] = value


def _is_same(one: Any, other: Any) -> bool:
    """Returns whether two schemas have the same columns, in order."""
    return bool(one.remove_metadata().equals(other.remove_metadata()))


def _origin(field: Any, *sides: SideFooter) -> SideFooter | None:
    """Returns the first side that has a column of this type."""
    for side in sides:
        number = side.schema.get_field_index(field.name)
        if number >= 0 and side.schema.field(number).type == field.type:
            return side
    return None


def _load(side: SideFooter | None, key: bytes) -> dict[str, Any]:
    """Returns an entry, which is JSON, {} without one that is an object."""
    try:
        found = json.loads(side.metadata.get(key, b"{}")) if side else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _by_name(items: Any) -> dict[Any, dict[str, Any]]:
    listed = items if isinstance(items, list) else []
    return {
        str(item.get("field_name", item.get("name"))): item
        for item in listed
        if isinstance(item, dict)
    }


def _spark_schema(schema: Any, destination: SideFooter, source: SideFooter) -> bytes | None:
    """Returns Spark's schema of the columns, None if Spark has no type for one of them."""
    fields = []
    for field in schema:
        origin = _origin(field, destination, source)
        known = _by_name(_load(origin, _SPARK).get("fields")).get(field.name)
        if known is None:
            is_int96 = origin is not None and field.name in origin.int96
            kind = _spark_type(field.type, is_int96=is_int96)
            if kind is None:
                return None
            known = {"name": field.name, "type": kind, "metadata": {}}
        fields.append({**known, "nullable": field.nullable})
    return json.dumps({"type": "struct", "fields": fields}, separators=(",", ":")).encode()


_SPARK_TYPES = {
    "bool": "boolean",
    "int8": "byte",
    "int16": "short",
    "int32": "integer",
    "int64": "long",
    "uint8": "short",
    "uint16": "integer",
    "uint32": "long",
    "uint64": "decimal(20,0)",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "string_view": "string",
    "binary": "binary",
    "large_binary": "binary",
    "binary_view": "binary",
    "date32[day]": "date",
    "date64[ms]": "date",
}
_SPARK_DIGITS = 38


def _spark_type(kind: Any, *, is_int96: bool) -> Any:  # noqa: PLR0911  one for each kind
    """Returns the type that Spark reads a column of Parquet as, None if it has none."""
    import pyarrow.types as kinds  # noqa: PLC0415  an optional library

    from anabranch.tables.lists import is_list  # noqa: PLC0415

    if kinds.is_dictionary(kind):
        return _spark_type(kind.value_type, is_int96=is_int96)
    if kinds.is_decimal(kind):
        fits = kind.precision <= _SPARK_DIGITS
        return f"decimal({kind.precision},{kind.scale})" if fits else None
    if kinds.is_timestamp(kind):
        if kind.unit == "ns" and not is_int96:
            return None
        return "timestamp" if is_int96 or kind.tz else "timestamp_ntz"
    if kinds.is_struct(kind):
        fields = [
            {
                "name": field.name,
                "type": _spark_type(field.type, is_int96=is_int96),
                "nullable": field.nullable,
                "metadata": {},
            }
            for field in kind
        ]
        is_known = all(field["type"] is not None for field in fields)
        return {"type": "struct", "fields": fields} if is_known else None
    if kinds.is_map(kind):
        parts = [_spark_type(each, is_int96=is_int96) for each in (kind.key_type, kind.item_type)]
        if None in parts:
            return None
        nulls = kind.item_field.nullable
        return {
            "type": "map",
            "keyType": parts[0],
            "valueType": parts[1],
            "valueContainsNull": nulls,
        }
    if is_list(kind):
        element = _spark_type(kind.value_type, is_int96=is_int96)
        nulls = kind.value_field.nullable
        return element and {"type": "array", "elementType": element, "containsNull": nulls}
    return _SPARK_TYPES.get(str(kind))


def _pandas(schema: Any, destination: SideFooter, source: SideFooter, rows: int) -> bytes | None:
    """Returns pandas' description of the columns whose types one side has, and of the index."""
    about = _load(destination, _PANDAS)
    if not about:
        return None
    names = set(schema.names)
    columns = []
    for field in schema:
        origin = _origin(field, destination, source)
        known = _by_name(_load(origin, _PANDAS).get("columns")).get(field.name)
        if known is not None:
            columns.append(known)
    listed = about.get("index_columns")
    index: list[Any] = []
    for each in listed if isinstance(listed, list) else []:
        if isinstance(each, str) and each in names:
            index.append(each)
        elif isinstance(each, dict) and each.get("kind") == "range":
            index.append({**each, "start": 0, "step": 1, "stop": rows})
    return json.dumps({**about, "index_columns": index, "columns": columns}).encode()


def _geo(schema: Any, destination: SideFooter, source: SideFooter) -> bytes | None:
    """Returns GeoParquet's description without bounds, which other rows may exceed."""
    about = _load(destination, _GEO)
    columns: dict[str, Any] = {}
    for field in schema:
        listed = _load(_origin(field, destination, source), _GEO).get("columns")
        known = listed.get(field.name) if isinstance(listed, dict) else None
        if isinstance(known, dict):
            columns[field.name] = {key: each for key, each in known.items() if key != "bbox"}
    if about.get("primary_column") not in columns:
        return None
    return json.dumps({**about, "columns": columns}).encode()
