"""Byte ranges of objects (RFC 9110, section 14)."""

from __future__ import annotations

import re
from typing import NamedTuple

from anabranch.errors import RangeNotSatisfiable

__all__ = ["ByteRange", "parse_range"]

_SINGLE = re.compile(r"bytes=([0-9]{0,19})-([0-9]{0,19})")


class ByteRange(NamedTuple):
    """`length` bytes of an object from `start` on; `size` is the size of the whole object."""

    start: int
    length: int
    size: int

    @property
    def content_range(self) -> str:
        """The value of the Content-Range header."""
        return f"bytes {self.start}-{self.start + self.length - 1}/{self.size}"


def parse_range(header: str, size: int) -> ByteRange | None:
    """Returns the bytes that a Range header selects from an object of `size` bytes, the end limited
    to the object's; None for a header with several ranges or without a valid one.

    Raises RangeNotSatisfiable for a valid range that selects no byte of the object.
    """
    match = _SINGLE.fullmatch(header)
    if match is None:
        return None
    first, last = match.groups()
    if first:
        start, end = int(first), int(last) if last else size - 1
        if last and end < start:
            return None
        end = min(end, size - 1)
    elif last:
        start, end = max(size - int(last), 0), size - 1
    else:
        return None
    if start > end:
        raise RangeNotSatisfiable("Requested Range Not Satisfiable", size=size)
    return ByteRange(start, end - start + 1, size)
