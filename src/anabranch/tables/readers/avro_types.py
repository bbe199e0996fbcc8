"""Arrow types of Avro schemas, and the values that Avro stores as those of Arrow.

Values are decoded by the schema without its logical types: times as integers, decimals as bytes. So
none passes through a type of Python that has fewer years or no nanoseconds.

| Avro | Arrow |
|---|---|
| null, boolean, int, long, float, double, string, bytes, fixed | the type |
| enum | string |
| array, map, record | list, map, struct |
| union with null | the other type, which may be null |
| union of several types | a struct of `member0`, `member1`, …, as Spark reads it |
| decimal of up to 76 digits | decimal128, decimal256 |
| date, time-millis, time-micros | date32, time32, time64 |
| timestamp-…, local-timestamp-… | timestamp in UTC, without a zone |
| uuid | uuid |
| duration | interval of months, days and nanoseconds |
| a record that contains itself | string: the value as JSON |
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

import msgspec
import pyarrow as pa

__all__ = ["AvroColumn", "avro_column", "stored_schema"]

_PRIMITIVES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_INTEGERS = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    **{
        ("long", f"{prefix}timestamp-{name}"): pa.timestamp(unit, zone)
        for prefix, zone in (("", "UTC"), ("local-", None))
        for name, unit in (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
    },
}
_MAX_DIGITS = 76
_DECIMAL128_DIGITS = 38
_UUID_BYTES = 16
_DURATION = struct.Struct("<III")
_NANOSECONDS = 1_000_000
_EXACT = Context(prec=_MAX_DIGITS + 1)

Convert = Callable[[Any], Any]


class AvroColumn(msgspec.Struct, frozen=True):
    """The Arrow type for a schema; `convert` makes values that Arrow takes of those that fastavro
    returns, None if they are. `note` says what is shown in another form.
    """

    type: Any
    convert: Convert | None = None
    note: str = ""

    def array(self, values: list[Any]) -> Any:
        """Returns values of this type."""
        convert = self.convert
        if convert is not None:
            values = [None if value is None else convert(value) for value in values]
        return pa.array(values, self.type)


def stored_schema(schema: Any) -> Any:
    """Returns a schema without logical types."""
    if isinstance(schema, list):
        return [stored_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    skipped = {"logicalType", "default", "aliases", "doc"}
    kept = {key: value for key, value in schema.items() if key not in skipped}
    kept = {key: value for key, value in kept.items() if not key.startswith("__")}
    for key in ("type", "items", "values"):
        if key in kept and not (key == "type" and isinstance(kept[key], str)):
            kept[key] = stored_schema(kept[key])
    if "fields" in kept:
        kept["fields"] = [stored_schema(field) for field in kept["fields"]]
    return kept


def avro_column(schema: Any, named: dict[str, Any], above: tuple[str, ...] = ()) -> AvroColumn:
    """Returns the column for a schema. `named` are the schemas that have names, `above` the names
    of records around it.
    """
    if isinstance(schema, list):
        return _union(schema, named, above)
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return AvroColumn(_PRIMITIVES[schema])
        return avro_column(named[schema], named, above)
    kind = schema["type"]
    if not isinstance(kind, str) or (kind in named and "fields" not in schema):
        return avro_column(kind, named, above)
    return _logical(schema, kind) or _plain_column(schema, kind, named, above)


def _plain_column(
    schema: Mapping[str, Any], kind: str, named: dict[str, Any], above: tuple[str, ...]
) -> AvroColumn:
    if kind == "fixed":
        return AvroColumn(pa.binary(schema["size"]))
    if kind == "enum":
        return AvroColumn(pa.string())
    if kind in ("array", "map"):
        return _repeated_column(schema, kind, named, above)
    if kind in ("record", "error"):
        return _record(schema, named, above)
    return AvroColumn(_PRIMITIVES[kind])


def _logical(schema: Mapping[str, Any], kind: str) -> AvroColumn | None:
    name = str(schema.get("logicalType", ""))
    if (kind, name) in _INTEGERS:
        return AvroColumn(_INTEGERS[kind, name])
    size = schema.get("size")
    if name == "uuid" and kind == "string":
        return AvroColumn(pa.string())
    if name == "uuid" and size == _UUID_BYTES:
        return AvroColumn(pa.uuid(), lambda value: UUID(bytes=value))
    if name == "duration" and size == _DURATION.size:
        return AvroColumn(pa.month_day_nano_interval(), _interval)
    if name == "decimal" and kind in ("bytes", "fixed"):
        digits, scale = schema.get("precision", 0), schema.get("scale", 0)
        if 0 < digits <= _MAX_DIGITS and 0 <= scale <= digits:
            make = pa.decimal128 if digits <= _DECIMAL128_DIGITS else pa.decimal256
            return AvroColumn(make(digits, scale), lambda value: _decimal(value, scale))
    return None


def _decimal(value: bytes, scale: int) -> Decimal:
    return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _EXACT)


def _interval(value: bytes) -> Any:
    months, days, milliseconds = _DURATION.unpack(value)
    return pa.MonthDayNano([months, days, milliseconds * _NANOSECONDS])


def _repeated_column(
    schema: Mapping[str, Any], kind: str, named: dict[str, Any], above: tuple[str, ...]
) -> AvroColumn:
    inner = avro_column(schema["items" if kind == "array" else "values"], named, above)
    each = inner.convert
    if kind == "array":
        convert = None if each is None else lambda values: [_one(each, item) for item in values]
        return AvroColumn(pa.list_(inner.type), convert, inner.note)
    if each is None:
        return AvroColumn(pa.map_(pa.string(), inner.type), lambda v: list(v.items()), inner.note)
    return AvroColumn(
        pa.map_(pa.string(), inner.type),
        lambda values: [(key, _one(each, item)) for key, item in values.items()],
        inner.note,
    )


def _one(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _record(schema: Mapping[str, Any], named: dict[str, Any], above: tuple[str, ...]) -> AvroColumn:
    name = schema["name"]
    if name in above:
        return AvroColumn(pa.string(), _text, "a record that contains itself")
    inside = (*above, name)
    fields = [(each["name"], avro_column(each["type"], named, inside)) for each in schema["fields"]]
    notes = _join(column.note for _, column in fields)
    kind = pa.struct([pa.field(field, column.type) for field, column in fields])
    converted = [(field, column.convert) for field, column in fields if column.convert is not None]
    if not converted:
        return AvroColumn(kind, None, notes)

    def convert(value: Mapping[str, Any]) -> dict[str, Any]:
        return {**value, **{field: _one(each, value[field]) for field, each in converted}}

    return AvroColumn(kind, convert, notes)


def _union(schemas: list[Any], named: dict[str, Any], above: tuple[str, ...]) -> AvroColumn:
    """Returns the column for a union. fastavro returns values of named types with their names."""
    branches = [each for each in schemas if _kind(each) != "null"]
    columns = [avro_column(each, named, above) for each in branches]
    if not columns:
        return AvroColumn(pa.null())
    if len(columns) == 1:
        only = columns[0]
        if only.convert is None and _kind(branches[0]) not in ("record", "error", "enum", "fixed"):
            return only
        return AvroColumn(
            only.type, lambda value: _one(only.convert, _without_name(value)), only.note
        )
    kinds = [_kind(each) for each in branches]
    plain = all(isinstance(each, str) for each in branches)
    if plain and set(kinds) in ({"int", "long"}, {"float", "double"}):
        return AvroColumn(pa.int64() if "long" in kinds else pa.float64())
    names = [_full_name(each, named) for each in branches]
    kind = pa.struct([pa.field(f"member{at}", each.type) for at, each in enumerate(columns)])

    def convert(value: Any) -> dict[str, Any]:
        at = _branch(value, kinds, names)
        return {f"member{at}": _one(columns[at].convert, _without_name(value))}

    return AvroColumn(kind, convert, _join(each.note for each in columns))


def _kind(schema: Any) -> str:
    if isinstance(schema, dict):
        inner = schema["type"]
        return inner if isinstance(inner, str) else _kind(inner)
    return str(schema)


def _full_name(schema: Any, named: dict[str, Any]) -> str:
    if isinstance(schema, dict):
        return str(schema.get("name", ""))
    return schema if schema in named else ""


def _without_name(value: Any) -> Any:
    return value[1] if isinstance(value, tuple) else value


_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (float,),
    "double": (float,),
    "string": (str,),
    "bytes": (bytes,),
    "array": (list,),
    "map": (dict,),
}


def _branch(value: Any, kinds: list[str], names: list[str]) -> int:
    """Returns which of the types of a union a value has."""
    if isinstance(value, tuple):
        return names.index(value[0])
    fitting = [at for at, kind in enumerate(kinds) if type(value) in _PYTHON_TYPES.get(kind, ())]
    if not fitting:  # a named type, without its name
        return next(at for at, name in enumerate(names) if name)
    if len(fitting) > 1 and isinstance(value, int) and not -(2**31) <= value < 2**31:
        return next(at for at in fitting if kinds[at] == "long")
    return fitting[0]


def _text(value: Any) -> str:
    return json.dumps(_plain(value), default=_jsonable, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Returns a value without the names of types in unions."""
    if isinstance(value, tuple):
        return _plain(value[1])
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _jsonable(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)


def _join(notes: Iterable[str]) -> str:
    return next((note for note in notes if note), "")
