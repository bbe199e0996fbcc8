"""A streaming parser for multipart forms (RFC 7578).

    --boundary CRLF headers CRLF CRLF content CRLF --boundary … CRLF --boundary--

It buffers no more than may be the beginning of a delimiter, so a form of any size is streamed in
the chunks in which it arrives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from anabranch.errors import Invalid

__all__ = ["FormParts", "invalid_form", "parse_boundary", "part_name"]

_MAX_BOUNDARY_BYTES = 200
_MAX_HEADER_BYTES = 16 * 1024

_BOUNDARY = re.compile(r';\s*boundary=(?:"((?:[^"\\]|\\.)+)"|([^\s;"]+))', re.IGNORECASE)
_NAME = re.compile(r';\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))', re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")


class FormParts:
    """The parts of a form, in order: `headers` begins a part, `until_delimiter` yields its content,
    or what precedes the first part. Both raise Invalid for a malformed form.
    """

    def __init__(self, boundary: bytes, chunks: Iterable[bytes]) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._chunks = iter(chunks)
        self._buffer = b"\r\n"  # so that the first delimiter is found like the others

    def until_delimiter(self) -> Iterator[bytes]:
        """Yields the content before the next delimiter, and consumes the delimiter."""
        overlap = len(self._delimiter) - 1
        while True:
            at = self._buffer.find(self._delimiter)
            if at >= 0:
                before, self._buffer = (
                    self._buffer[:at],
                    self._buffer[at + len(self._delimiter) :],
                )
                if before:
                    yield before
                return
            if len(self._buffer) > overlap:
                before, self._buffer = self._buffer[:-overlap], self._buffer[-overlap:]
                yield before
            self._read_chunk()

    def headers(self) -> dict[str, str] | None:
        """Returns the headers of the next part, names in lower case, or None at the end."""
        self._fill_buffer(2)
        if self._buffer.startswith(b"--"):
            return None
        while (end := self._buffer.find(b"\r\n\r\n")) < 0 and len(
            self._buffer
        ) <= _MAX_HEADER_BYTES:
            self._read_chunk()
        if not 0 <= end <= _MAX_HEADER_BYTES:
            raise invalid_form("the headers of a part are too long")
        first, *lines = self._buffer[:end].split(b"\r\n")
        if first.strip(b" \t"):
            raise invalid_form("a delimiter does not end its line")
        self._buffer = self._buffer[end + 4 :]
        pairs = (line.decode("utf-8", "replace").partition(":") for line in lines)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def last(self) -> Iterator[bytes]:
        """Yields the content of the current part, then consumes the rest of the form."""
        yield from self.until_delimiter()
        for _ in self._chunks:
            pass

    def rest(self) -> Iterator[bytes]:
        """Yields the unparsed rest of the form."""
        yield self._buffer
        self._buffer = b""
        yield from self._chunks

    def _fill_buffer(self, length: int) -> None:
        while len(self._buffer) < length:
            self._read_chunk()

    def _read_chunk(self) -> None:
        chunk = next(self._chunks, None)
        if chunk is None:
            raise invalid_form("it ends in the middle of a part")
        self._buffer += chunk


def parse_boundary(content_type: str) -> bytes:
    """Returns the boundary named by a form's content type. Raises Invalid."""
    match = _BOUNDARY.search(content_type)
    boundary = "" if match is None else _unquote(match)
    if not boundary or len(boundary) > _MAX_BOUNDARY_BYTES:
        raise invalid_form("its content type names no boundary")
    return boundary.encode()


def part_name(disposition: str) -> str:
    """Returns the name of a part, given its Content-Disposition; empty without one."""
    match = _NAME.search(disposition)
    return "" if match is None else _unquote(match)


def invalid_form(reason: str) -> Invalid:
    """Returns the error for a malformed form."""
    return Invalid(f"multipart form: {reason}", kind="invalid_form")


def _unquote(match: re.Match[str]) -> str:
    quoted, bare = match.groups()
    return bare if quoted is None else _ESCAPED.sub(r"\1", quoted)
