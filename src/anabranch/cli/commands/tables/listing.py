"""`table list`: the catalog's tables, and after them folders of Delta Lake."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from anabranch.cli.client.table_catalog import Reference, TableCatalog
from anabranch.cli.commands.tables.catalog import catalog_of, reference_of, walk
from anabranch.cli.commands.tables.metadata import summary_of
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import joined
from anabranch.cli.output.table import Column

__all__ = ["run"]

_COLUMNS = (Column("NAME", "name"), Column("TYPE"), Column("FORMAT"))
_LONG = (
    *(*_COLUMNS, Column("ROWS", "number"), Column("FILES", "number"), Column("SIZE", "size")),
    *(Column("SNAPSHOTS", "number"), Column("CHANGED", "time")),
)
_DENIED = 401
_SHORT_FIELDS = ("name", "type", "format")
_LONG_FIELDS = (*_SHORT_FIELDS, "rows", "files", "size_bytes", "snapshots", "changed")


def run(context: CommandContext) -> None:
    """Lists the namespaces, tables and views of a reference, or of a namespace in it; of a
    reference its Delta tables, too.
    """
    given = context.arguments
    fields = _LONG_FIELDS if given.long else _SHORT_FIELDS
    with catalog_of(context) as catalog:
        at = reference_of(given.address)
        items = _items(catalog, at, given.address.parts, long=given.long)
        if not given.address.parts:
            items = itertools.chain(items, _delta_items(context, at, long=given.long))
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


def _delta_items(context: CommandContext, at: Reference, *, long: bool) -> Iterator[dict[str, Any]]:
    """Yields the folders with Delta tables; none, with a note, if the user may not see commits."""
    place = ("repositories", at.repository, "refs", at.ref, "tables")
    try:
        for table in context.connection.pages(*place):
            if table["format"] == "delta":
                item = {"name": table["name"], "type": "table", "format": "delta"}
                yield item | (_delta_summary(context, place, table) if long else {})
    except Failure as failure:
        if failure.status != _DENIED:
            raise
        context.output.note(f"Delta tables are not listed: {failure.message}")


def _delta_summary(
    context: CommandContext, place: tuple[str, ...], table: dict[str, Any]
) -> dict[str, Any]:
    """Returns what is known of a table; nothing of one that the server cannot read."""
    changed = {"changed": table["commit"]["creation_date"]} if table["commit"] else {}
    try:
        shown = context.connection.get(*place, "preview", path=table["path"], rows=1)
    except Failure:
        return changed
    return {
        "rows": shown["row_count"],
        "files": shown["files"],
        "size_bytes": shown["size_bytes"],
        "snapshots": len(shown["versions"]),
        **changed,
    }
