"""`fs ls`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["run"]

_COLUMNS = (Column("TYPE"), Column("MODIFIED", "time"), Column("SIZE", "size"), Column("PATH"))


def run(context: CommandContext) -> None:
    """Lists the objects below a path."""
    place = context.arguments.place
    pages = context.connection.pages(
        *("repositories", place.repository, "refs", place.ref, "objects", "ls"),
        amount=context.arguments.amount,
        after=context.arguments.after or None,
        prefix=place.key or None,
        delimiter=None if context.arguments.recursive else "/",
    )
    context.output.rows(_COLUMNS, pages, _cells)
    context.output.more(pages.next_offset)


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    if item["path_type"] == "common_prefix":
        return "folder", None, None, item["path"]
    return "object", item["mtime"], item.get("size_bytes", 0), item["path"]
