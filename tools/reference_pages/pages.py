"""Which pages are made from the code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from reference_pages import commands, compatibility, error_kinds, module_names, settings
from reference_pages.marked_tables import with_tables

_TABLES: Final[Mapping[str, Callable[[Path], dict[str, str]]]] = {
    "ARCHITECTURE.md": module_names.tables,
    "docs/compatibility.md": compatibility.tables,
    "docs/errors.md": error_kinds.tables,
    "docs/settings.md": settings.tables,
}
PAGES: Final = ("docs/commands.md", *_TABLES)
"""The paths of the pages in the checkout."""


def tables_of(name: str, project: Path) -> dict[str, str]:
    """Returns the tables of a page that are made from the code, by the names of their marks: none
    for a page that is made from it as a whole. `project` is the folder of the checkout.
    """
    return _TABLES[name](project) if name in _TABLES else {}


def current(name: str, page: str, project: Path) -> str:
    """Returns the current text of a page: with its tables replaced, or made anew."""
    if name in _TABLES:
        return with_tables(page, tables_of(name, project))
    return commands.page()
