"""Rows in conflict on the command line: their listing, which is edited, and the file of choices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.cli.errors import Usage
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable

__all__ = ["chosen_resolutions", "show_row_conflicts"]

_SHOWN_ONLY = frozenset({"kind", "columns", "base", "source", "destination"})
"""The fields of a listed row that are for readers."""

_PAGE_SIZE = 1000


def show_row_conflicts(
    context: CommandContext, parts: Sequence[str], path: str, key: Sequence[str]
) -> None:
    """Prints the rows in conflict of a table; as JSON, the file of `--choices` without what is
    chosen. Pages end with an error if the table changes meanwhile.
    """
    rows: list[dict[str, Any]] = []
    after, page = "", {}
    while not rows or after:
        page = context.connection.get(
            *parts, "conflicts", "rows", path=path, key=tuple(key), after=after, amount=_PAGE_SIZE
        )
        rows += page["results"]
        after = page["pagination"]["next_offset"]
        if not page["pagination"]["has_more"]:
            break
    document = {
        "path": path,
        "strategy": "rows",
        "key": page["key"],
        "versions": page["versions"],
        "choices": rows,
    }
    lines = [line for row in rows for line in _lines(row)]
    context.output.done("\n".join(lines) or "No row is in conflict", document)


def _lines(row: Mapping[str, Any]) -> list[str]:
    key = ", ".join(f"{name}={_text(value)}" for name, value in row["key"].items())
    lines = [f"{row['kind'].replace('_', ' ')}: {printable(key)}"]
    if row["columns"]:
        for name in row["columns"]:
            cells = [
                f"{side} {_text((row[side] or {}).get(name))}"
                for side in ("base", "source", "destination")
            ]
            lines.append(printable(f"  {name}: {', '.join(cells)}"))
    else:
        lines += [
            printable(f"  {side}: {'no row' if row[side] is None else _text(row[side])}")
            for side in ("base", "source", "destination")
        ]
    return lines


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def chosen_resolutions(files: Sequence[str]) -> list[dict[str, Any]]:
    """Returns the resolutions that files of choices have. Raises Usage for a file that cannot be
    read, or has another form.
    """
    found: list[dict[str, Any]] = []
    for name in files:
        try:
            document = json.loads(Path(name).read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise Usage(f"{name} cannot be read as JSON: {error}") from None
        for each in document if isinstance(document, list) else [document]:
            choices = each.get("choices") if isinstance(each, dict) else None
            if not isinstance(choices, list) or not all(isinstance(row, dict) for row in choices):
                raise Usage(
                    f"{name} has no choices for rows",
                    hint="`merge … --dry-run --rows PATH --json` prints such a file: add `take` or "
                    "`cells` to each of its rows.",
                )
            rows = [
                {field: value for field, value in row.items() if field not in _SHOWN_ONLY}
                for row in choices
            ]
            found.append({**each, "choices": rows})
    return found
