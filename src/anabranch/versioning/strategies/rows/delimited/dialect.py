"""How a CSV file is spelled: its delimiter, line ends and byte order mark."""

from __future__ import annotations

import csv
import io
import re

import msgspec

from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.table_format import PIECE_BYTES

__all__ = ["LINE_END", "Dialect", "find_dialect"]

LINE_END = re.compile(rb"[\r\n]")
_OTHERS = (";", "\t", "|", "\x01")
_MARK = b"\xef\xbb\xbf"


class Dialect(msgspec.Struct, frozen=True):
    """The delimiter, the line end of the header, and the byte order mark, empty without one."""

    delimiter: str
    line_end: bytes
    mark: bytes


def find_dialect(version: ObjectVersion, delimiter: str) -> Dialect:
    """Returns the dialect of a file whose format has this delimiter; files of commas may have
    semicolons, tabs, vertical bars or, as Hive's, control-A characters.
    """
    with version.open() as stream:
        start = stream.read(PIECE_BYTES)
    mark = _MARK if start.startswith(_MARK) else b""
    first = LINE_END.split(start[len(mark) :].lstrip(b"\r\n"), maxsplit=1)[0]
    if delimiter == "," and b"," not in first:
        # spreadsheets and exports write others by the same name
        found = (each for each in _OTHERS if each.encode() in first)
        delimiter = next(found, delimiter)
    return Dialect(delimiter, _line_end(start, delimiter), mark)


def _line_end(start: bytes, delimiter: str) -> bytes:
    """Returns the line end after the header, which may have others in quotes."""
    text = start.decode("utf-8-sig", "replace").lstrip("\r\n")
    lines = io.StringIO(text, newline="")
    try:
        next(csv.reader(lines, delimiter=delimiter, strict=True), None)
    except csv.Error:  # the parser of the rows says what is wrong
        return b"\n"
    header = text[: lines.tell()]
    for end in ("\r\n", "\n", "\r"):
        if header.endswith(end):
            return end.encode()
    return b"\n"
