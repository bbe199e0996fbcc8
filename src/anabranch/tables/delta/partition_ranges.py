"""Which files of a Delta table are needed, by the values of their partitions."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from anabranch.tables.live_rows.columns import Column, Scalar
from anabranch.tables.live_rows.live_table import LiveFile
from anabranch.tables.live_rows.needs import Needs, ValueRange

__all__ = ["is_file_needed"]

_INTEGERS = frozenset(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"))
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EPOCH = dt.date(1970, 1, 1)


def is_file_needed(file: LiveFile, columns: Mapping[str, Column], needs: Needs) -> bool:
    """Returns whether rows of a file may be needed, given the columns by their names."""

    def range_of(name: str) -> ValueRange | None:
        column = columns.get(name)
        if column is None or name not in file.partition or not isinstance(column.type, Scalar):
            return None
        text = file.partition[name]
        if text is None:
            return ValueRange(is_null=True)
        value = _value(column.type.sql, text)
        return None if value is None else ValueRange(value, value)

    return needs.of(range_of)


def _value(sql: str, text: str) -> int | bytes | None:
    """Returns the value of a partition, None for one whose type or form is another one."""
    if sql == "VARCHAR":
        return text.encode()
    if sql in _INTEGERS and _INTEGER.fullmatch(text):
        return int(text)
    if sql == "DATE" and _DATE.fullmatch(text):
        try:
            return (dt.date.fromisoformat(text) - _EPOCH).days
        except ValueError:
            return None
    return None
