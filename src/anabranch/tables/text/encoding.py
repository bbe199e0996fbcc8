"""Text of any encoding as UTF-8.

A byte order mark names the encoding; without one, zero bytes at every other place mean UTF-16.
Other text is UTF-8, and a line that is not is Windows-1252, whose bytes all have a character (the
five that it leaves undefined are those of Latin-1). So no row is lost, and each is read alike
however much of the file is read.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import msgspec

from anabranch.tables.table import Note, UnreadableTable
from anabranch.tables.text import windows_1252

__all__ = ["TextEncoding", "Utf8Text", "encoding_note", "first_text"]

_BLOCK_BYTES = 1 << 20
_MAX_LINE_BYTES = 16 << 20
_SAMPLE_BYTES = 4096
_MANY, _FEW = 0.6, 0.1
"""Shares of zero bytes at one half of the places, and at the other, that mean UTF-16."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32 LE"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32 BE"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16 LE"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16 BE"),
)


class TextEncoding(msgspec.Struct, frozen=True):
    """The encoding of a text: a codec of Python or "windows-1252", its name for users, and the byte
    order mark. Text in ASCII has the codec "ascii": it is UTF-8 and Windows-1252 alike.
    """

    codec: str
    title: str
    mark: bytes = b""


def encoding_note(encoding: TextEncoding) -> Note:
    """Returns the note on a text that is all of one encoding."""
    title = "UTF-8" if encoding.codec == "ascii" else encoding.title
    title = "Windows-1252 (Latin-1)" if encoding.codec == "windows-1252" else title
    return Note(f"Encoding: {title}.", is_usual=True)


class Utf8Text:
    """A text that is read once. `notes` and `encoding` are complete when `blocks` has ended. If it
    is `strict`, text that is not all of one encoding is an error.
    """

    def __init__(self, stream: Any, *, strict: bool = False) -> None:
        self._stream = stream
        self._strict = strict
        self._other_lines = 0
        self._has_utf8 = False
        self._replaced = 0
        self._start = _read(stream, _BLOCK_BYTES)
        self._codec, self._title, mark = _encoding_of(self._start)
        self._mark, self._start = self._start[:mark], self._start[mark:]

    @property
    def encoding(self) -> TextEncoding:
        """The encoding."""
        if self._other_lines:
            return TextEncoding("windows-1252", "Windows-1252")
        if self._codec == "utf-8" and not self._has_utf8 and not self._mark:
            return TextEncoding("ascii", "ASCII")
        return TextEncoding(self._codec, self._title, self._mark)

    @property
    def is_mixed(self) -> bool:
        """Whether lines of several encodings have been read."""
        return bool(self._other_lines) and (self._has_utf8 or bool(self._mark))

    @property
    def notes(self) -> list[Note]:
        """The encoding, and characters that are shown otherwise."""
        title, lines = self._title, self._other_lines
        if lines and not self._has_utf8:
            return [encoding_note(self.encoding)]
        notes = [Note(f"Encoding: {title}.", is_usual=True)]
        if lines:
            what = "line that is" if lines == 1 else "lines that are"
            text = f"{lines:,} {what} not UTF-8, and read as Windows-1252."
            notes.append(Note(text, is_repair=True))
        if self._replaced:
            text = f"{self._replaced:,} characters are no {title}: each is shown as �."
            notes.append(Note(text, is_repair=True))
        return notes

    def blocks(self) -> Iterator[bytes]:
        """Yields the text as UTF-8, in blocks of whole lines, the last one as it ends. Raises
        UnreadableTable for a line of more than 16 MiB, and for text that `strict` excludes.
        """
        if self._codec != "utf-8":
            yield from self._transcode()
            return
        rest = b""
        for block in self._raw_blocks():
            joined = rest + block
            end = max(joined.rfind(b"\n"), joined.rfind(b"\r", 0, -1)) + 1
            rest = joined[end:]
            if end:
                yield self._utf8(joined[:end])
            elif len(rest) > _MAX_LINE_BYTES:
                raise _too_long()
        if rest:
            yield self._utf8(rest)

    def _raw_blocks(self) -> Iterator[bytes]:
        block = self._start
        while block:
            yield block
            block = _read(self._stream, _BLOCK_BYTES)

    def _transcode(self) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(self._codec)("strict" if self._strict else "replace")
        rest = ""
        for block in self._raw_blocks():
            text = rest + self._decode(decoder, block)
            end = max(text.rfind("\n"), text.rfind("\r", 0, -1)) + 1
            rest = text[end:]
            self._replaced += text.count("\ufffd", 0, end)
            if end:
                yield text[:end].encode(errors="replace")
            elif len(rest) > _MAX_LINE_BYTES:
                raise _too_long()
        rest += self._decode(decoder, b"", final=True)
        self._replaced += rest.count("\ufffd")
        if rest:
            yield rest.encode(errors="replace")

    def _decode(
        self, decoder: codecs.IncrementalDecoder, block: bytes, *, final: bool = False
    ) -> str:
        try:
            return decoder.decode(block, final)
        except UnicodeDecodeError as error:
            raise UnreadableTable(f"it has bytes that are not {self._title}") from error

    def _utf8(self, block: bytes) -> bytes:
        if block.isascii():
            return block
        try:
            block.decode()
        except UnicodeDecodeError:
            block = b"".join(map(self._line, block.splitlines(keepends=True)))
        else:
            self._has_utf8 = True
        if self._strict and self.is_mixed:
            raise UnreadableTable(
                "it is of several encodings: some of its lines are UTF-8, and others are not"
            )
        return block

    def _line(self, line: bytes) -> bytes:
        if line.isascii():
            return line
        try:
            line.decode()
        except UnicodeDecodeError:
            self._other_lines += 1
        else:
            self._has_utf8 = True
            return line
        return windows_1252.decode(line).encode()


def _too_long() -> UnreadableTable:
    return UnreadableTable(
        f"it has a line of more than {_MAX_LINE_BYTES >> 20} MiB", kind="line_too_large"
    )


def _encoding_of(start: bytes) -> tuple[str, str, int]:
    """Returns the codec, its name for users, and the size of the byte order mark."""
    for mark, codec, title in _MARKS:
        if start.startswith(mark):
            return codec, title, len(mark)
    sample = start[:_SAMPLE_BYTES]
    half = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if half and odd > half * _MANY and even < half * _FEW:
        return "utf-16-le", "UTF-16 LE", 0
    if half and even > half * _MANY and odd < half * _FEW:
        return "utf-16-be", "UTF-16 BE", 0
    return "utf-8", "UTF-8", 0


def _read(stream: Any, size: int) -> bytes:
    """Returns `size` bytes, fewer only at the end."""
    parts = []
    while size > 0 and (part := stream.read(size)):
        parts.append(bytes(part))
        size -= len(part)
    return b"".join(parts)


def first_text(stream: Any, chars: int) -> str:
    """Returns the first characters of a text."""
    start = _read(stream, chars * 4)
    codec, _, mark = _encoding_of(start)
    decoder = codecs.getincrementaldecoder(codec)("replace")
    return decoder.decode(start[mark:])[:chars]
