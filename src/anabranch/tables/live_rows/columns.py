"""The columns of a table and their types, in DuckDB's SQL.

A column is known in the files by its id or by its name there, `stored_name`; both stay when the
column is renamed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.sql_names import folded, identifier

__all__ = [
    "Column",
    "ColumnType",
    "ListType",
    "MapType",
    "Scalar",
    "StructType",
    "refused_column",
    "require_distinct",
    "sql_type",
]

MAX_DEPTH = 64
"""How deeply types may be nested."""


class Scalar(msgspec.Struct, frozen=True):
    """A type without parts. `name` is its name in the table's format."""

    sql: str
    name: str


class StructType(msgspec.Struct, frozen=True):
    """A type with named parts."""

    columns: tuple[Column, ...]


class ListType(msgspec.Struct, frozen=True):
    """A list of values of one type."""

    element: Column


class MapType(msgspec.Struct, frozen=True):
    """A map."""

    key: Column
    value: Column


ColumnType = Scalar | StructType | ListType | MapType


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column, or a part of one. `default` is SQL for its value in rows of files that do not have
    it. `field_id` is None in tables whose columns are known by names only. `refusal` says why the
    values are not read, "" if they are: a query that needs them fails with it, others do not.
    """

    name: str
    stored_name: str
    type: ColumnType
    field_id: int | None = None
    default: str = "NULL"
    required: bool = False
    refusal: str = ""


def sql_type(column_type: ColumnType) -> str:
    """Returns a type as SQL."""
    if isinstance(column_type, Scalar):
        return column_type.sql
    if isinstance(column_type, ListType):
        return f"{sql_type(column_type.element.type)}[]"
    if isinstance(column_type, MapType):
        return f"MAP({sql_type(column_type.key.type)}, {sql_type(column_type.value.type)})"
    parts = ", ".join(
        f"{identifier(each.name)} {sql_type(each.type)}" for each in column_type.columns
    )
    return f"STRUCT({parts})"


def require_distinct(columns: Sequence[Column]) -> None:
    """Raises Invalid for columns, or parts of one, that differ in the case of letters A to Z only:
    SQL does not tell them apart; and for a struct without parts, which it does not have.
    """
    seen: dict[str, str] = {}
    for column in columns:
        known = folded(column.name)
        if known in seen:
            raise unreadable(
                f"SQL does not tell the columns {seen[known]!r} and {column.name!r} apart"
            )
        seen[known] = column.name
        for inner in _inner(column.type):
            if not inner:
                raise unreadable(f"the column {column.name!r} is a struct without parts")
            require_distinct(inner)


def _inner(column_type: ColumnType) -> Iterator[Sequence[Column]]:
    if isinstance(column_type, StructType):
        yield column_type.columns
    elif isinstance(column_type, ListType):
        yield (column_type.element,)
    elif isinstance(column_type, MapType):
        yield (column_type.key,)
        yield (column_type.value,)


def refused_column(name: str, stored_name: str, type_name: str, field_id: int | None) -> Column:
    """Returns a column whose values are not read because of their type."""
    return Column(
        name=name,
        stored_name=stored_name,
        type=Scalar("VARCHAR", type_name),
        field_id=field_id,
        refusal=f"the column {name!r} has the type {type_name}, which is not read",
    )
