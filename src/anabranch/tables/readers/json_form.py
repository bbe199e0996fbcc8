"""Whether a text in JSON has a value in each line, or is one document."""

from __future__ import annotations

import re
from typing import BinaryIO

import msgspec

from anabranch.tables.formats import TableFormat
from anabranch.tables.table import UnreadableTable
from anabranch.tables.text.decompressed import decompressed
from anabranch.tables.text.encoding import Utf8Text

__all__ = ["is_json_lines"]

_DECODE = msgspec.json.Decoder(float_hook=str).decode
_BEGINNING = re.compile(rb"\s*(.)", re.DOTALL)


def is_json_lines(stream: BinaryIO, table_format: TableFormat, compression: str) -> bool:
    """Returns whether each line is a value by itself: by name, or as its first lines say. Raises
    what reading a damaged stream raises.
    """
    if table_format.name == "jsonl":
        return True
    try:
        start = next(Utf8Text(decompressed(stream, compression)).blocks(), b"")
    except UnreadableTable:  # its first line is too long
        return False
    first = _BEGINNING.match(start)
    if first is None or first[1] != b"{":
        return False
    lines = [line for line in start.split(b"\n", 3)[:2] if line.strip()]
    return len(lines) > 1 and all(map(_is_object, lines))


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(_DECODE(line), dict)
    except (msgspec.DecodeError, RecursionError):
        return False
