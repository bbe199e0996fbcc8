"""The output of `diff --rows`: the rows of a table that differ, and their changed cells."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from anabranch.cli.commands.differences.change_counts import count_changes, summary
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable
from anabranch.cli.output.table import Column
from anabranch.client.listing_pages import Pages

__all__ = ["show_row_changes"]

_COLUMNS = (Column("CHANGE", "change"), Column("KEY"), Column("CELLS"))
_MAX_CELL = 60


def show_row_changes(context: CommandContext, *parts: str, **params: Any) -> None:
    """Prints the rows that a listing of the API returns, and on a terminal how they are matched."""
    matching = notes = ""

    def fetch(**position: Any) -> Any:
        nonlocal matching, notes
        page = context.connection.get(*parts, **params, **position)
        matching, notes = _matching(page), _notes(page)
        return page

    counts: Counter[str] = Counter()
    rows = count_changes(Pages(fetch), "kind", counts)
    context.output.rows(_COLUMNS, rows, _cells)
    if context.output.terminal:
        text = f"{summary(counts)}; {matching}"
        context.output.line(context.output.paint(text, "dim"))
        if notes:
            context.output.line(context.output.paint(notes, "dim"))


def _matching(page: Mapping[str, Any]) -> str:
    """Returns how rows of both sides are matched, as text."""
    if page["matched_by"] == "whole_rows":
        return "whole rows compared"
    names = ", ".join(printable(name) for name in page["key"])
    return f"rows matched by {names}" + (" (found)" if page["matched_by"] == "found" else "")


def _notes(page: Mapping[str, Any]) -> str:
    """Returns how both sides were read, once if it is alike."""
    texts = {side: " ".join(notes) for side, notes in page.get("notes", {}).items() if notes}
    if len(set(texts.values())) == 1:
        return printable(next(iter(texts.values())))
    return " ".join(f"{side.capitalize()}: {printable(text)}" for side, text in texts.items())


def _cells(row: Mapping[str, Any]) -> tuple[str, str, str]:
    key, left, right = row["key"], row["left"], row["right"]
    if left is None or right is None:
        known = left or right or {}
        cells = _pairs({name: value for name, value in known.items() if name not in key})
    else:
        cells = ", ".join(
            f"{printable(name)}: {_text(left.get(name))} -> {_text(right.get(name))}"
            for name in row["columns"]
        )
    return row["kind"], _pairs(key) or _times(row["count"]), cells


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times"


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{printable(name)}={_text(value)}" for name, value in values.items())


def _text(value: Any) -> str:
    """Returns a value as JSON, shortened."""
    text = printable(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= _MAX_CELL else f"{text[: _MAX_CELL - 1]}…"
