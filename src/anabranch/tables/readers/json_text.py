"""A text in JSON: a value in each line, or one document.

The form is that of the name, or what the first lines say. A document of objects becomes lines, so
that one reader reads both; documents are in memory as a whole, so their size is limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import msgspec

from anabranch.tables.formats import TableFormat
from anabranch.tables.table import Note, UnreadableTable, unreadable
from anabranch.tables.text.decompressed import DECOMPRESSION_ERRORS, decompress
from anabranch.tables.text.encoding import Utf8Text

__all__ = ["MAX_DOCUMENT_BYTES", "JsonText"]

MAX_DOCUMENT_BYTES = 16 << 20
"""The size of a document, decompressed, that is read as a table."""

_DECODE = msgspec.json.Decoder(float_hook=str).decode
_BEGINNING = re.compile(rb"\s*(.)", re.DOTALL)


class JsonText:
    """A text in JSON, whose beginning has been read. `document` is None if its lines are values;
    `notes` are complete when its blocks have been read.
    """

    document: bytes | None = None

    def __init__(self, stream: BinaryIO, table_format: TableFormat, compression: str) -> None:
        """Raises UnreadableTable for a document that is too large, and for a damaged stream."""
        self._stream = stream
        self._compression = compression
        self.title = table_format.title
        self._start: list[bytes] = []
        self._rest: Iterator[bytes] | None = None
        try:
            self._text = self._open()
            self._rest = self._text.blocks()
            if table_format.name != "jsonl":
                self._find_form(self._rest)
        except DECOMPRESSION_ERRORS as error:
            raise unreadable(self.title, error) from error

    def _find_form(self, blocks: Iterator[bytes]) -> None:
        try:
            self._start = [block for block in [next(blocks, b"")] if block]
        except UnreadableTable:  # its first line is too long
            raise _too_large() from None
        if not (self._start and _begins_with_objects(self._start[0])):
            self.document = self._read_document(blocks)

    @property
    def notes(self) -> Sequence[Note]:
        """The encoding, and what was repaired."""
        return self._text.notes

    def blocks(self) -> Iterator[bytes]:
        """Yields the text in blocks of whole lines. Each call begins with the first one; the first
        call goes on with what has been read.
        """
        if self._rest is None:
            self._text = self._open()
            yield from self._text.blocks()
            return
        start, rest = self._start, self._rest
        self._start, self._rest = [], None
        yield from start
        yield from rest

    def _read_document(self, blocks: Iterator[bytes]) -> bytes:
        parts, self._start = self._start, []
        size = sum(map(len, parts))
        try:
            for block in blocks:
                parts.append(block)
                size += len(block)
                if size > MAX_DOCUMENT_BYTES:
                    raise _too_large()
        except UnreadableTable:  # a line that is too long
            raise _too_large() from None
        return b"".join(parts)

    def _open(self) -> Utf8Text:
        return Utf8Text(decompress(self._stream, self._compression))


def _begins_with_objects(start: bytes) -> bool:
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


def _too_large() -> UnreadableTable:
    return UnreadableTable(
        f"it is a JSON document of more than {MAX_DOCUMENT_BYTES >> 20} MiB, which is not "
        "read as a table",
        kind="document_too_large",
        hint="Write an object in each line, and name the file .jsonl.",
    )
