"""The beginning of a text of any size."""

from __future__ import annotations

from typing import BinaryIO

from anabranch.tables.formats import detect_format
from anabranch.tables.text.decompressed import decompress
from anabranch.tables.text.encoding import first_text

__all__ = ["beginning_of_text"]


def beginning_of_text(stream: BinaryIO, chars: int) -> str:
    """Returns the first characters of a text, which may be compressed. Raises what reading a
    damaged one raises.
    """
    _, compression = detect_format(stream, "", "json")
    return first_text(decompress(stream, compression), chars)
