"""Formats single values: names, sizes, times, commit ids, and colour.

Terminals get one form (short ids, sizes in units, local time), programs another (whole ids, bytes,
UTC). Names come from the users who wrote the objects, so control characters are always escaped: an
object's name cannot change the screen or break a line.
"""

from __future__ import annotations

import re
import time
import unicodedata

__all__ = ["COLOURS", "display_width", "iso_time", "local_time", "paint", "printable", "size"]

COLOURS = {
    "head": "1",
    "dim": "2",
    "name": "36",
    "id": "33",
    "added": "32",
    "removed": "31",
    "changed": "33",
    "conflict": "1;35",
    "error": "1;31",
    "hint": "36",
}

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_KIB = 1024


def printable(text: str) -> str:
    """Returns `text` with control characters, direction marks and broken characters escaped."""
    return _UNPRINTABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return _SHORT.get(match[0]) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")  # noqa: PLR2004


def display_width(text: str) -> int:
    """Returns the columns of a terminal that `text` takes, by Unicode's East Asian widths."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def size(number: int) -> str:
    """Returns a number of bytes in a suitable unit: 512 B, 1.5 KiB, 20 MiB."""
    if number < _KIB:
        return f"{number} B"
    amount = float(number)
    for unit in _UNITS:
        amount /= _KIB
        # 1023.96 would be written 1024.0 of one unit instead of 1.0 of the next
        if amount < _KIB - 0.05 or unit == _UNITS[-1]:
            break
    return f"{amount:.1f} {unit}"


def local_time(seconds: int) -> str:
    """Returns a Unix time in local time, with the offset from UTC."""
    return _format("%Y-%m-%d %H:%M:%S %z", seconds, utc=False)


def iso_time(seconds: int) -> str:
    """Returns a Unix time as RFC 3339 in UTC."""
    return _format("%Y-%m-%dT%H:%M:%SZ", seconds, utc=True)


def _format(pattern: str, seconds: int, *, utc: bool) -> str:
    try:
        return time.strftime(pattern, time.gmtime(seconds) if utc else time.localtime(seconds))
    except (OverflowError, OSError, ValueError):
        return str(seconds)


def paint(text: str, style: str, *, colour: bool) -> str:
    """Returns `text` in a style's colour, or unchanged without colours."""
    code = COLOURS.get(style)
    return f"\x1b[{code}m{text}\x1b[0m" if colour and code and text else text
