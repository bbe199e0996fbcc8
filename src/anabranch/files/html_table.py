"""HTML tables for notebooks. Cells are text: markup in them is escaped; control characters, and
those that change the direction of writing, are shown as their codes.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["MAX_CELL_CHARACTERS", "MAX_ROWS", "html_table"]

MAX_ROWS = 50
MAX_CELL_CHARACTERS = 200


def html_table(rows: Sequence[Mapping[str, Any]], *, has_more: bool) -> str:
    """Returns a table of the first MAX_ROWS rows, with a column for each key; a line below says how
    many rows there are, and whether the listing has more.
    """
    shown = rows[:MAX_ROWS]
    columns = list(dict.fromkeys(name for row in shown for name in row))
    head = "".join(f"<th>{_text(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_text(row.get(name))}</td>' for name in columns)}</tr>"
        for row in shown
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    return f"<div>{table}<p>{_count(len(rows), has_more=has_more)}</p></div>"


def _count(rows: int, *, has_more: bool) -> str:
    listed = f"{rows:,} {'item' if rows == 1 else 'items'}"
    if rows > MAX_ROWS:
        listed = f"{MAX_ROWS} of {listed}"
    return f"{listed}, and more that are not in this page" if has_more else listed


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    if len(text) > MAX_CELL_CHARACTERS:
        text = f"{text[: MAX_CELL_CHARACTERS - 1]}…"
    visible = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return html.escape(visible, quote=True)
