"""Names that a JSON object has twice: decoders keep the last value and say nothing."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from anabranch.tables.table import Note

__all__ = ["doubled_name", "doubled_note", "first_doubled_name"]

_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_ENCODE = msgspec.json.Encoder(decimal_format="number").encode


def doubled_name(content: bytes, value: Any) -> str | None:
    """Returns the first name that an object in a JSON text has twice, None without one. `value` is
    what the text was decoded to: it has fewer texts than the content if members were dropped.
    """
    return None if _texts(content) == _texts(_ENCODE(value)) else first_doubled_name(content)


def first_doubled_name(content: bytes) -> str | None:
    """Returns the first name that an object in a JSON text has twice, None without one."""
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            found.append(next(name for name in names if names.count(name) > 1))

    json.loads(content, object_pairs_hook=look)
    return found[0] if found else None


def doubled_note(name: str, rows: int, *, is_document: bool) -> Note:
    """Returns the note on rows that have an object with a name twice: `name` in the first one."""
    have = "1 row has" if rows == 1 else f"{rows:,} rows have"
    have = "It has" if is_document else have
    text = f"{have} an object with a name twice, {name!r}: the last value is shown."
    return Note(text, is_repair=True, changes_rows=True)


def _texts(content: bytes) -> int:
    """Returns the number of quotation marks around texts and names."""
    return (_ESCAPED.sub(b"", content) if b"\\" in content else content).count(b'"')
