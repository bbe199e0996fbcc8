"""Forms of several parts (RFC 7578), read as they come in.

    --boundary CRLF headers CRLF CRLF content CRLF --boundary … CRLF --boundary--

Only as much is held as may turn out to be a delimiter: a form of any size goes through in the
pieces it came in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from anabranch.errors import Invalid

__all__ = ["FormParts", "boundary_of", "invalid_form", "name_of"]

_LONGEST_BOUNDARY = 200
_LONGEST_HEADERS = 16 * 1024

_BOUNDARY = re.compile(r';\s*boundary=(?:"((?:[^"\\]|\\.)+)"|([^\s;"]+))', re.IGNORECASE)
_NAME = re.compile(r';\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))', re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")


class FormParts:
    """The parts of a form, one after another: `until_delimiter` yields what comes before a part or
    the content of one, `headers` begins the next. Both raise Invalid for what is no form.
    """

    def __init__(self, boundary: bytes, chunks: Iterable[bytes]) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._chunks = iter(chunks)
        self._buffer = b"\r\n"  # as if before the first delimiter there were always a line

    def until_delimiter(self) -> Iterator[bytes]:
        """Yields what comes before the next delimiter, and ends behind it."""
        kept = len(self._delimiter) - 1
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
            if len(self._buffer) > kept:
                before, self._buffer = self._buffer[:-kept], self._buffer[-kept:]
                yield before
            self._more()

    def headers(self) -> dict[str, str] | None:
        """Returns the headers of the part that begins, names in lower case, or None at the end."""
        self._have(2)
        if self._buffer.startswith(b"--"):
            return None
        while (end := self._buffer.find(b"\r\n\r\n")) < 0 and len(self._buffer) <= _LONGEST_HEADERS:
            self._more()
        if not 0 <= end <= _LONGEST_HEADERS:
            raise invalid_form("the headers of a part are too long")
        first, *lines = self._buffer[:end].split(b"\r\n")
        if first.strip(b" \t"):
            raise invalid_form("a delimiter does not end its line")
        self._buffer = self._buffer[end + 4 :]
        pairs = (line.decode("utf-8", "replace").partition(":") for line in lines)
        return {name.strip().lower(): value.strip() for name, _, value in pairs}

    def last(self) -> Iterator[bytes]:
        """Yields the content of the part that begins, and ends when the form has."""
        yield from self.until_delimiter()
        for _ in self._chunks:
            pass

    def rest(self) -> Iterator[bytes]:
        """Yields everything that is left."""
        yield self._buffer
        self._buffer = b""
        yield from self._chunks

    def _have(self, length: int) -> None:
        while len(self._buffer) < length:
            self._more()

    def _more(self) -> None:
        chunk = next(self._chunks, None)
        if chunk is None:
            raise invalid_form("it ends in the middle of a part")
        self._buffer += chunk


def boundary_of(content_type: str) -> bytes:
    """Returns the boundary that a form's content type names. Raises Invalid."""
    match = _BOUNDARY.search(content_type)
    boundary = "" if match is None else _unquoted(match)
    if not boundary or len(boundary) > _LONGEST_BOUNDARY:
        raise invalid_form("its content type names no boundary")
    return boundary.encode()


def name_of(disposition: str) -> str:
    """Returns the name of a part, given its Content-Disposition; empty without one."""
    match = _NAME.search(disposition)
    return "" if match is None else _unquoted(match)


def invalid_form(reason: str) -> Invalid:
    """Returns the error of a form that is none."""
    return Invalid(f"multipart form: {reason}", kind="invalid_form")


def _unquoted(match: re.Match[str]) -> str:
    quoted, bare = match.groups()
    return bare if quoted is None else _ESCAPED.sub(r"\1", quoted)
