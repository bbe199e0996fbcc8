"""Encodings of CSV files: tables are read and merged as UTF-8, and written as the destination is.

Windows-1252 cannot hold all that a source in another encoding has, and a line of it may happen to
be UTF-8 as well, as which it would be read later. Both are found before a record is written.
"""

from __future__ import annotations

import codecs
import csv
import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from anabranch.errors import Conflict
from anabranch.tables.table import UnreadableTable
from anabranch.tables.text import windows_1252
from anabranch.tables.text.encoding import TextEncoding, Utf8Text
from anabranch.versioning.strategies.contract import ObjectVersion
from anabranch.versioning.strategies.rows.table_format import failure, unreadable_table
from anabranch.versioning.strategies.rows.temporary_version import TemporaryVersion

__all__ = ["encoded_output", "read_encoding", "require_writable", "result_encoding"]

_UTF8 = TextEncoding("utf-8", "UTF-8")
_AS_THEY_ARE = ("ascii", "utf-8")
_WINDOWS = "windows-1252"


def read_encoding(
    side: str, version: ObjectVersion, folder: str
) -> tuple[ObjectVersion, TextEncoding]:
    """Returns the encoding of a text, and the text in UTF-8: a temporary file without a byte order
    mark, or the version itself if it is UTF-8. Raises Conflict for text of no one encoding.
    """
    try:
        with version.open() as stream:
            text = Utf8Text(stream, strict=True)
            for _ in text.blocks():
                pass
        if text.encoding.codec in _AS_THEY_ARE:
            return version, text.encoding
        with version.open() as stream, tempfile.NamedTemporaryFile(dir=folder, delete=False) as out:
            out.writelines(Utf8Text(stream).blocks())
    except UnreadableTable as error:
        raise unreadable_table(side, error) from error
    return TemporaryVersion(out.name, version), text.encoding


def result_encoding(encodings: Mapping[str, TextEncoding]) -> TextEncoding:
    """Returns the encoding of a merge: the destination's. One in ASCII fits several, so that base
    and source decide, in this order.
    """
    destination = encodings["destination"]
    if destination.codec != "ascii":
        return destination
    for side in ("base", "source"):
        other = encodings.get(side)
        if other is not None and other.codec in ("utf-8", _WINDOWS):
            return TextEncoding(other.codec, other.title)
    return _UTF8


def require_writable(
    record: bytes, encoding: TextEncoding, delimiter: str, names: Sequence[str] | None
) -> None:
    """Raises Conflict, with the column's name, for a record in UTF-8 of which a cell cannot be
    written in an encoding, or would be read otherwise. `names` are those of the columns, None for
    the header.
    """
    if encoding.codec != _WINDOWS or record.isascii():
        return
    text = record.decode()
    try:
        lines = windows_1252.encode(text).splitlines()
    except UnicodeEncodeError as error:
        character = text[error.start]
        shown = (
            f"{character!r} (U+{ord(character):04X})"
            if character.isprintable()
            else (f"U+{ord(character):04X}")
        )
        column = _column(text, delimiter, names, lambda cell: character in cell)
        raise _unwritable(
            column, names, f"{shown}, which {encoding.title} does not have"
        ) from error
    for line in lines:
        if not line.isascii() and _is_utf8(line):
            shared = line.decode()
            column = _column(text, delimiter, names, lambda cell: not cell.isascii())
            reason = (
                f"characters that, as {encoding.title}, would be read as UTF-8: {shared[:80]!r}"
            )
            raise _unwritable(column, names, reason)


def _column(text: str, delimiter: str, names: Sequence[str] | None, is_it: Any) -> str:
    """Returns the name of the first column whose cell is it."""
    cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return next(name for name, cell in zip(names or cells, cells, strict=False) if is_it(cell))


def _unwritable(column: str, names: Sequence[str] | None, reason: str) -> Conflict:
    where = f"the column {column!r} has a value" if names else f"the name of the column {column!r}"
    return failure(
        f"{where} with {reason}",
        "Store the destination in UTF-8, or choose a side for this path.",
    )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def encoded_output(output: BinaryIO, encoding: TextEncoding) -> Iterator[BinaryIO]:
    """Yields a stream of UTF-8, which is written to `output` in an encoding, after its byte order
    mark.
    """
    if encoding.codec in _AS_THEY_ARE:
        yield output
        return
    output.write(encoding.mark)
    stream = _Encoder(output, encoding.codec)
    yield cast(BinaryIO, stream)
    stream.finish()


class _Encoder:
    def __init__(self, output: BinaryIO, codec: str) -> None:
        self._output = output
        self._codec = codec
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def write(self, piece: bytes) -> int:
        self._write(self._decoder.decode(piece))
        return len(piece)

    def finish(self) -> None:
        self._write(self._decoder.decode(b"", final=True))

    def _write(self, text: str) -> None:
        is_windows = self._codec == _WINDOWS
        self._output.write(windows_1252.encode(text) if is_windows else text.encode(self._codec))
