"""`table list`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anabranch.cli.client.table_catalog import Reference, TableCatalog
from anabranch.cli.commands.tables.catalog import catalog_of, reference_of, walk
from anabranch.cli.commands.tables.metadata import summary_of
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import joined
from anabranch.cli.output.table import Column

__all__ = ["run"]

_COLUMNS = (Column("NAME", "name"), Column("TYPE"), Column("FORMAT"))
_LONG = (
    *(*_COLUMNS, Column("ROWS", "number"), Column("FILES", "number"), Column("SIZE", "size")),
    *(Column("SNAPSHOTS", "number"), Column("CHANGED", "time")),
)
_SHORT_FIELDS = ("name", "type", "format")
_LONG_FIELDS = (*_SHORT_FIELDS, "rows", "files", "size_bytes", "snapshots", "changed")


def run(context: CommandContext) -> None:
    """Lists the namespaces, tables and views of a reference, or of a namespace in it."""
    given = context.arguments
    fields = _LONG_FIELDS if given.long else _SHORT_FIELDS
    with catalog_of(context) as catalog:
        items = _items(catalog, reference_of(given.address), given.address.parts, long=given.long)
        context.output.rows(
            _LONG if given.long else _COLUMNS, items, lambda item: [item.get(f) for f in fields]
        )


def _items(
    catalog: TableCatalog, at: Reference, namespace: tuple[str, ...], *, long: bool
) -> Iterator[dict[str, Any]]:
    for kind, parts in walk(catalog, at, namespace):
        item: dict[str, Any] = {"name": joined(parts), "type": kind}
        if kind != "namespace":
            item["format"] = "iceberg"
        if long and kind == "table":
            item |= summary_of(catalog.load(at, parts[:-1], parts[-1]))
        yield item
