"""`fs ls`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.context import Call
from anabranch.cli.output.table import Column

__all__ = ["run"]

_COLUMNS = (Column("TYPE"), Column("MODIFIED", "time"), Column("SIZE", "size"), Column("PATH"))


def run(call: Call) -> None:
    """Lists the objects below a path."""
    place = call.arguments.place
    pages = call.connection.pages(
        *("repositories", place.repository, "refs", place.ref, "objects", "ls"),
        amount=call.arguments.amount,
        after=call.arguments.after or None,
        prefix=place.key or None,
        delimiter=None if call.arguments.recursive else "/",
    )
    call.output.rows(_COLUMNS, pages, _cells)
    call.output.more(pages.next_offset)


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    if item["path_type"] == "common_prefix":
        return "folder", None, None, item["path"]
    return "object", item["mtime"], item.get("size_bytes", 0), item["path"]
