"""`image ls`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.context import Call
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


def run(call: Call) -> None:
    """Lists images."""
    options = call.arguments
    pages = call.connection.pages(
        "images",
        amount=options.amount,
        after=options.after or None,
        prefix=options.prefix or None,
        label=[f"{key}={value}" for key, value in options.label] or None,
    )
    call.output.rows(_COLUMNS, pages, _cells)
    call.output.more(pages.next_offset)


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    labels = " ".join(f"{key}={value}" for key, value in sorted(item["labels"].items()))
    return (
        *(item["tag"], item["creation_date"], item["objects"], item["size_bytes"]),
        *(item["digest"], labels),
    )
