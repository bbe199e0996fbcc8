"""The schemas of tables: what is accepted, fresh ids for the columns of a new table, and which
schemas are the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from anabranch.tables.iceberg.commits.definitions.column_types import (
    base_name,
    check_default,
    first_version,
    normal_name,
)
from anabranch.tables.iceberg.commits.forms import FIELD, FLAG, INT32, SCHEMA
from anabranch.tables.iceberg.commits.refusals import checked, refused

__all__ = [
    "MAX_DEPTH",
    "Column",
    "Columns",
    "check_schema",
    "fresh_schema",
    "read_columns",
    "schema_identity",
]

MAX_DEPTH = 64
"""How deeply types may be nested."""

_MAX_NAMES = 64 << 20
"""The most characters of the full names of all columns."""

_DEFAULTS_VERSION = 3
"""The first format version with default values."""


class Column(NamedTuple):
    """A column at any depth: its full name, the name of its type without parameters, "" for a
    struct, list or map; whether it is in a list or a map, and whether it or a struct that it is in
    may be missing.
    """

    name: str
    base: str
    is_repeated: bool
    is_optional: bool


class Columns(NamedTuple):
    """The columns of a schema, at any depth: by their ids, and their ids by their full names."""

    by_id: Mapping[int, Column]
    ids: Mapping[str, int]


class _Place(NamedTuple):
    """Where a type is in a schema: the name that it has, or "" for the schema itself."""

    name: str = ""
    depth: int = 0
    is_repeated: bool = False
    is_optional: bool = False

    def below(self, name: str, *, repeated: bool = False, optional: bool = False) -> _Place:
        full = f"{self.name}.{name}" if self.name or self.depth else name
        return _Place(
            full, self.depth + 1, self.is_repeated or repeated, self.is_optional or optional
        )


def read_columns(schema: Mapping[str, Any]) -> Columns:
    """Returns the columns of a schema. Raises Invalid if it has an id or a name twice, or anything
    that is not one of the specification's forms.
    """
    columns: dict[int, Column] = {}
    names: dict[str, int] = {}
    length = 0
    for number, column in _struct_columns(checked(schema, SCHEMA, "schema").fields, _Place()):
        if number in columns:
            raise refused(f"the schema has the field id {number} twice")
        length += len(column.name)
        if length > _MAX_NAMES:  # each has the names of those that it is in
            raise refused("the names of the columns are too long")
        if column.name in names:
            raise refused(f"the schema has the column {column.name!r} twice")
        columns[number] = column
        names[column.name] = number
    return Columns(columns, names)


def check_schema(schema: Mapping[str, Any], format_version: int) -> Columns:
    """Returns the columns of a schema that a table of a format version may have. Raises Invalid for
    another.
    """
    columns = read_columns(schema)
    for column in columns.by_id.values():
        if first_version(column.base) > format_version:
            raise refused(
                f"column {column.name!r}: the type {column.base} needs format version "
                f"{first_version(column.base)}, the table has {format_version}"
            )
    if format_version < _DEFAULTS_VERSION and _has_default(schema):
        raise refused(f"default values need format version {_DEFAULTS_VERSION}")
    for number in schema.get("identifier-field-ids") or ():
        if number not in columns.by_id:
            raise refused(f"the identifier field {number} is not in the schema")
        column = columns.by_id[number]
        is_exact = column.base and column.base not in {"float", "double"}
        if not is_exact or column.is_repeated or column.is_optional:
            raise refused(
                f"column {column.name!r} cannot identify rows: it must be required, of a primitive "
                "type other than float and double, and not in a list, a map or an optional struct"
            )
    return columns


def fresh_schema(schema: Mapping[str, Any]) -> tuple[dict[str, Any], dict[int, int]]:
    """Returns a schema as the first of a new table, with the ids from 1 that Iceberg's libraries
    give its columns, and these new ids by the old ones. The schema has been checked.
    """
    counter = itertools.count(1)
    new_ids: dict[int, int] = {}

    def assign(old: int) -> int:
        new_ids[old] = next(counter)
        return new_ids[old]

    fresh = {**schema, "schema-id": 0, "fields": _fresh_fields(schema["fields"], assign)}
    identifiers = schema.get("identifier-field-ids") or ()
    if identifiers:
        fresh["identifier-field-ids"] = [new_ids[number] for number in identifiers]
    return fresh, new_ids


def schema_identity(schema: Mapping[str, Any]) -> bytes:
    """Returns what two schemas have in common if they differ at most in their ids."""
    identifiers = sorted(set(schema.get("identifier-field-ids") or ()))
    return msgspec.json.encode([_normal(schema["fields"]), identifiers], order="deterministic")


def _struct_columns(fields: Any, place: _Place) -> Iterator[tuple[int, Column]]:
    if not isinstance(fields, list):
        raise refused(f"{_shown(place)}: the fields of a struct must be a list")
    for given in fields:
        field = checked(given, FIELD, f"a field of {_shown(place)}")
        below = place.below(field.name, optional=not field.required)
        yield from _columns(field.id, field.type, below)
        for default in (field.initial_default, field.write_default):
            check_default(default, field.type, f"column {below.name!r}")
        if field.type == "unknown" and field.required:
            raise refused(f"column {below.name!r} of the type unknown cannot be required")


def _columns(number: int, given: Any, place: _Place) -> Iterator[tuple[int, Column]]:
    if place.depth > MAX_DEPTH:
        raise refused(f"types are nested more than {MAX_DEPTH} times")
    base = base_name(given) if isinstance(given, str) else ""
    kind = given.get("type") if isinstance(given, Mapping) else None
    if not base and kind not in {"struct", "list", "map"}:
        raise refused(f"column {place.name!r} has an unknown type: {given!r:.100}")
    yield number, Column(place.name, base, place.is_repeated, place.is_optional)
    if base:
        return
    if kind == "struct":
        yield from _struct_columns(given.get("fields"), place)
    elif kind == "list":
        optional = not _flag(given, "element-required", place)
        below = place.below("element", repeated=True, optional=optional)
        yield from _columns(_id(given, "element-id", place), given.get("element"), below)
    else:
        below = place.below("key", repeated=True)
        yield from _columns(_id(given, "key-id", place), given.get("key"), below)
        optional = not _flag(given, "value-required", place)
        below = place.below("value", repeated=True, optional=optional)
        yield from _columns(_id(given, "value-id", place), given.get("value"), below)


def _shown(place: _Place) -> str:
    return f"column {place.name!r}" if place.depth else "the schema"


def _id(given: Mapping[str, Any], name: str, place: _Place) -> int:
    return checked(given.get(name), INT32, f"{name} of {_shown(place)}")


def _flag(given: Mapping[str, Any], name: str, place: _Place) -> bool:
    return checked(given.get(name), FLAG, f"{name} of {_shown(place)}")


def _has_default(given: Any) -> bool:
    if not isinstance(given, Mapping):
        return False
    if any(given.get(name) is not None for name in ("initial-default", "write-default")):
        return True
    parts = [given.get(name) for name in ("type", "element", "key", "value")]
    return any(map(_has_default, [*parts, *(given.get("fields") or ())]))


def _fresh_fields(
    fields: Sequence[Mapping[str, Any]], assign: Callable[[int], int]
) -> list[dict[str, Any]]:
    ids = [assign(field["id"]) for field in fields]  # of a struct first, then of what is in them
    return [
        {**field, "id": number, "type": _fresh_type(field["type"], assign)}
        for number, field in zip(ids, fields, strict=True)
    ]


def _fresh_type(given: Any, assign: Callable[[int], int]) -> Any:
    if isinstance(given, str):
        return given
    if given["type"] == "struct":
        return {**given, "fields": _fresh_fields(given["fields"], assign)}
    parts = ("element",) if given["type"] == "list" else ("key", "value")
    ids = {f"{part}-id": assign(given[f"{part}-id"]) for part in parts}
    return {**given, **ids, **{part: _fresh_type(given[part], assign) for part in parts}}


def _normal(given: Any) -> Any:
    """Returns fields or types without what is null, and names of types in their normal form."""
    if isinstance(given, list):
        return [_normal(each) for each in given]
    if not isinstance(given, Mapping):
        return given
    return {
        name: normal_name(value)
        if isinstance(value, str) and name in {"type", "element", "key", "value"}
        else _normal(value)
        for name, value in given.items()
        if value is not None
    }
