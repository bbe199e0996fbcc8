"""Bytes in Parquet files that are values of another kind, which Arrow reads as bytes alone."""

from __future__ import annotations

import struct
from typing import Literal

from anabranch.tables.json_values import interval_text

__all__ = ["ByteForm", "form_text"]

ByteForm = Literal["interval", "text"]
"""What bytes are: months, days and milliseconds of Parquet's INTERVAL, or a text."""

_NANOSECONDS = 1_000_000


def form_text(value: bytes | str | None, form: ByteForm) -> str | None:
    """Returns the JSON form of bytes, or of a text, of a column in another form."""
    if value is None or isinstance(value, str):
        return value
    if form == "text":
        return value.decode("utf-8", "backslashreplace")
    months, days, milliseconds = struct.unpack("<III", value)
    return interval_text(months, days, milliseconds * _NANOSECONDS)
