"""Rows of tables in a form that can be compared: without order, NaN equal to NaN."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

__all__ = ["comparable_rows"]


def comparable_rows(table: pa.Table) -> list[str]:
    """Returns the rows as sorted texts. Maps are lists of pairs; a moment is in UTC."""
    return sorted(repr([(name, _plain(row[name])) for name in row]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).isoformat() if value.tzinfo else value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return [(name, _plain(item)) for name, item in value.items()]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
