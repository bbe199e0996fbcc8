r"""Values of a result as JSON shows them without loss.

Integers that a double cannot hold, decimals, times and identifiers become text; bytes become hex
digits after `\x`, as PostgreSQL writes them; NaN and infinities their names. Long text is cut off
after MAX_TEXT_CHARS, and ends in an ellipsis then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["MAX_TEXT_CHARS", "to_json"]

MAX_TEXT_CHARS = 4096
_MAX_ITEMS = 1000
_MAX_EXACT = 2**53
_ELLIPSIS = "…"


def to_json(value: Any) -> Any:
    """Returns a value of DuckDB as one that JSON has."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in list(value.items())[:_MAX_ITEMS]}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value[:_MAX_ITEMS]]
    is_binary = isinstance(value, bytes | bytearray | memoryview)
    text = "\\x" + bytes(value[:MAX_TEXT_CHARS]).hex() if is_binary else str(value)
    return text if len(text) <= MAX_TEXT_CHARS else text[:MAX_TEXT_CHARS] + _ELLIPSIS


def _number(value: float) -> Any:
    if isinstance(value, int):
        return value if -_MAX_EXACT <= value <= _MAX_EXACT else str(value)
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
