"""`table list`: the catalog's tables and views, and after them tables in folders."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from anabranch.cli.client.table_catalog import Reference, TableCatalog
from anabranch.cli.commands.tables.catalog import catalog_of, reference_of, walk
from anabranch.cli.commands.tables.folders import preview, register_command
from anabranch.cli.commands.tables.metadata import summary_of
from anabranch.cli.commands.tables.views import describe_view
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress, joined
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
    reference the tables in folders, too, and of a folder those alone.
    """
    given = context.arguments
    fields = _LONG_FIELDS if given.long else _SHORT_FIELDS
    with catalog_of(context) as catalog:
        at = reference_of(given.address)
        items: list[Iterator[dict[str, Any]]] = []
        if not given.address.folder:
            items.append(_items(catalog, at, given.address.parts, long=given.long))
        unregistered: list[str] = []
        if not given.address.parts:
            folders = _folder_items(context, given.address, unregistered, long=given.long)
            items.append(folders)
        context.output.rows(
            *(_LONG if given.long else _COLUMNS, itertools.chain.from_iterable(items)),
            lambda item: [_cell(item, field) for field in fields],
        )
    if unregistered and not context.output.json:
        context.output.note(f"Not in the catalog yet. Register it by: {unregistered[0]}")
        if unregistered[1:]:
            context.output.note("`table list --json` has the commands for the others.")


def _cell(item: dict[str, Any], field: str) -> Any:
    if field == "format" and "register" in item:
        return f"{item['format']} (not registered)"
    return item.get(field)


def _items(
    catalog: TableCatalog, at: Reference, namespace: tuple[str, ...], *, long: bool
) -> Iterator[dict[str, Any]]:
    for kind, parts in walk(catalog, at, namespace):
        item: dict[str, Any] = {"name": joined(parts), "type": kind}
        if kind != "namespace":
            item["format"] = "iceberg"
        if long and kind == "table":
            item |= summary_of(catalog.load(at, parts[:-1], parts[-1]))
        if long and kind == "view":
            item |= _view_summary(
                describe_view(item["name"], catalog.load_view(at, parts[:-1], parts[-1]))
            )
        yield item


def _view_summary(view: dict[str, Any]) -> dict[str, Any]:
    return {name: view[name] for name in ("changed", "columns", "sql")}


def _folder_items(
    context: CommandContext, address: TableAddress, unregistered: list[str], *, long: bool
) -> Iterator[dict[str, Any]]:
    """Yields the folders with tables, and adds the commands that register those of Iceberg; none,
    with a note, if the user may not see commits.
    """
    place = ("repositories", address.repository, "refs", address.ref, "tables")
    try:
        for table in context.connection.pages(*place, prefix=address.folder):
            if table["in_catalog"]:
                continue
            at = address._replace(folder=table["path"])
            item = {"name": table["path"], "type": "table", "format": table["format"]}
            if table["format"] == "iceberg":
                item["register"] = register_command(at)
                unregistered.append(item["register"])
            yield item | (_summary(context, at, table) if long else {})
    except Failure as failure:
        if failure.status != _DENIED:
            raise
        context.output.note(f"Tables in folders are not listed: {failure.message}")


def _summary(
    context: CommandContext, address: TableAddress, table: dict[str, Any]
) -> dict[str, Any]:
    """Returns what is known of a table; nothing of one that the server cannot read."""
    changed = {"changed": table["commit"]["creation_date"]} if table["commit"] else {}
    try:
        shown = preview(context, address)
    except Failure:
        return changed
    return {
        "rows": shown["row_count"],
        "files": shown["files"],
        "size_bytes": shown["size_bytes"],
        "snapshots": len(shown["versions"]),
        **changed,
    }
