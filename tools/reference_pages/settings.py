"""The table of docs/settings.md, from the declarations of the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from anabranch.model.secret import Secret
from anabranch.server.config.field import Setting, declared, variable
from anabranch.server.config.settings import Address, Seconds
from anabranch.server.config.types import PageUrl, Pairs
from reference_pages.marked_tables import markdown_table

_HEAD = ("Setting", "Variable", "Type", "Default", "Meaning")
_KINDS = {
    str: "text",
    Secret: "secret",
    Path: "path",
    int: "whole number",
    bool: "true or false",
    Seconds: "duration",
    tuple[str, ...]: "list",
    Address: "host:port",
    PageUrl: "URL",
    Pairs: "names and values",
}
_UNITS = ((3600, "h"), (60, "m"), (1, "s"))


def tables(project: Path) -> dict[str, str]:  # noqa: ARG001  the settings are those of the code
    """Returns the table of all settings, in Markdown."""
    return {"settings": markdown_table(_HEAD, map(_row, declared().values()))}


def _row(setting: Setting) -> tuple[str, ...]:
    shared = " **(shared)**" if setting.doc.shared else ""
    names = (f"`{setting.name}`", f"`{variable(setting.name)}`")
    return *names, _kind(setting.type), _default(setting), setting.doc.meaning + shared


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
