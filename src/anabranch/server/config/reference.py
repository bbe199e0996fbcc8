"""The table of docs/settings.md, generated from the declarations of the settings.

`python -m anabranch.server.config.reference docs/settings.md` updates it between its two marks.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from anabranch.model.secret import Secret
from anabranch.server.config.field import Setting, declared, variable
from anabranch.server.config.settings import Address, Seconds
from anabranch.server.config.types import Pairs

__all__ = ["BEGIN", "END", "main", "settings_table", "with_table"]

BEGIN, END = "<!-- settings: begin -->", "<!-- settings: end -->"

_KINDS = {
    str: "text",
    Secret: "secret",
    Path: "path",
    int: "whole number",
    bool: "true or false",
    Seconds: "duration",
    tuple[str, ...]: "list",
    Address: "host:port",
    Pairs: "names and values",
}
_UNITS = ((3600, "h"), (60, "m"), (1, "s"))


def settings_table() -> str:
    """Returns the table of all settings, in Markdown."""
    rows = [_row(setting) for setting in declared().values()]
    return "\n".join(
        ["| Setting | Variable | Type | Default | Meaning |", "|---|---|---|---|---|", *rows]
    )


def with_table(page: str) -> str:
    """Returns the page with the current table between its marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{settings_table()}\n{END}{after}"


def main(paths: list[str]) -> None:
    """Updates the table in each page."""
    for path in map(Path, paths):
        path.write_text(with_table(path.read_text("utf-8")), "utf-8")


def _row(setting: Setting) -> str:
    shared = " **(shared)**" if setting.doc.shared else ""
    return (
        f"| `{setting.name}` | `{variable(setting.name)}` | {_kind(setting.type)} "
        f"| {_default(setting)} | {setting.doc.meaning}{shared} |"
    )


def _kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(kind))
    return _KINDS[kind]


def _default(setting: Setting) -> str:
    value = setting.default
    if setting.doc.under_data:
        made = "made once, in " if setting.type is Secret else ""
        return f"{made}`<data>/{setting.doc.under_data}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, Seconds):
        size, unit = next((size, unit) for size, unit in _UNITS if value % size == 0)
        return f"`{int(value / size)}{unit}`"
    if setting.type == tuple[str, ...]:
        value = ",".join(value)
    return f"`{value}`" if value not in ("", (), Secret("")) else "none"


if __name__ == "__main__":
    main(sys.argv[1:])
