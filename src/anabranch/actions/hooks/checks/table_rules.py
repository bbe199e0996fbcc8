"""Rules about the content of tables in single files.

tables:
  - path: tables/flights/*.parquet
    schema: unchanged                  # or {file: schemas/flights.parquet}
    rows: {min: 1, max: 1000000}
    not_null: [origin]
    unique: [carrier, flight]
    ranges: {distance: {min: 0, max: 5000}}
    together: true                     # rows and unique: of all these files together
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import msgspec

from anabranch.actions.hooks.properties import Properties
from anabranch.tables.formats import FORMATS

__all__ = ["TABLE_FORMATS", "Bounds", "TableRule", "table_rule"]

TABLE_FORMATS = tuple(FORMATS)
_MAX_ROWS = 1 << 62

Bound = int | float | str | None


class Bounds(msgspec.Struct, frozen=True):
    """The least and the greatest value; None: any."""

    min: Bound = None
    max: Bound = None


class TableRule(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for each table that is added or changed and whose path matches.

    `schema_file` is the file whose schema the table has, "" if it is the table's own before the
    event (`schema_unchanged`), or any. `format` is "" if the names of the files tell it.
    """

    path: str
    format: str = ""
    schema_unchanged: bool = False
    schema_file: str = ""
    rows: Bounds = Bounds()
    not_null: list[str] = []
    unique: list[str] = []
    ranges: dict[str, Bounds] = {}
    together: bool = False


def table_rule(properties: Properties) -> TableRule:
    """Returns a rule. Raises Invalid."""
    path = properties.text("path")
    given = properties.text("format", "")
    if given and given not in TABLE_FORMATS:
        raise properties.invalid("format", f"must be one of {', '.join(TABLE_FORMATS)}")
    unchanged, file = _schema(properties)
    rule = TableRule(
        path=path,
        format=given,
        schema_unchanged=unchanged,
        schema_file=file,
        rows=_row_bounds(properties),
        not_null=list(properties.texts("not_null")),
        unique=list(properties.texts("unique")),
        ranges={
            name: _bounds(properties, f"ranges.{name}", value)
            for name, value in properties.mapping("ranges").items()
        },
        together=properties.flag("together", default=False),
    )
    properties.refuse_others()
    if rule == TableRule(path=path, format=given, together=rule.together):
        raise properties.invalid(
            "", "a rule for tables needs schema, rows, not_null, unique or ranges"
        )
    return rule


def _schema(properties: Properties) -> tuple[bool, str]:
    value = properties.any("schema")
    if value is None:
        return False, ""
    if value == "unchanged":
        return True, ""
    if isinstance(value, Mapping) and set(value) == {"file"}:
        file = value["file"]
        if isinstance(file, str) and file:
            return False, file
    raise properties.invalid("schema", "must be `unchanged` or `{file: PATH}`")


def _row_bounds(properties: Properties) -> Bounds:
    value = properties.any("rows")
    if value is None:
        return Bounds()
    bounds = _bounds(properties, "rows", value)
    for each in (bounds.min, bounds.max):
        if each is not None and (not isinstance(each, int) or not 0 <= each <= _MAX_ROWS):
            raise properties.invalid("rows", "min and max must be whole numbers of 0 or more")
    return bounds


def _bounds(properties: Properties, name: str, value: Any) -> Bounds:
    if not isinstance(value, Mapping) or not value or not set(value) <= {"min", "max"}:
        raise properties.invalid(name, "must have min, max or both, and nothing else")
    found = {
        each: bound.isoformat() if isinstance(bound, dt.date) else bound
        for each, bound in value.items()
    }
    for bound in found.values():
        if isinstance(bound, bool) or not isinstance(bound, int | float | str):
            raise properties.invalid(name, "min and max must be numbers, texts or dates")
    low, high = found.get("min"), found.get("max")
    if low is not None and high is not None:
        if isinstance(low, str) != isinstance(high, str):
            raise properties.invalid(name, "min and max must be of one type")
        if low > high:
            raise properties.invalid(name, f"no value is from {low} to {high}")
    return Bounds(low, high)
