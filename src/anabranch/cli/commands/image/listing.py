"""`image ls`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["run"]

_COLUMNS = (
    Column("TAG", "name"),
    Column("CREATED", "time"),
    Column("OBJECTS", "number"),
    Column("SIZE", "size"),
    Column("DIGEST"),
    Column("LABELS"),
)


def run(context: CommandContext) -> None:
    """Lists images."""
    options = context.arguments
    pages = context.connection.pages(
        "images",
        amount=options.amount,
        after=options.after or None,
        prefix=options.prefix or None,
        label=[f"{key}={value}" for key, value in options.label] or None,
    )
    context.output.rows(_COLUMNS, pages, _cells)
    context.output.more(pages.next_offset)


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    labels = " ".join(f"{key}={value}" for key, value in sorted(item["labels"].items()))
    return (
        *(item["tag"], item["creation_date"], item["objects"], item["size_bytes"]),
        *(item["digest"], labels),
    )
