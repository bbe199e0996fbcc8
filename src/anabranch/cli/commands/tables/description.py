"""`table show`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.tables.catalog import NOT_FOUND, catalog_of, reference_of
from anabranch.cli.commands.tables.folders import folder_table
from anabranch.cli.commands.tables.metadata import describe
from anabranch.cli.commands.tables.views import describe_view, view_details
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress, joined
from anabranch.cli.output.format import printable

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Shows a table: schema, partitioning, properties, snapshots and sizes; a view: its SQL and
    schema.
    """
    address: TableAddress = context.arguments.table
    if address.folder:
        item = folder_table(context, address)
        context.output.details(_details(item), item)
        return
    at, name = reference_of(address), joined(address.parts)
    with catalog_of(context) as catalog:
        try:
            item = describe(name, catalog.load(at, address.namespace, address.name))
        except Failure as missing:
            if missing.status != NOT_FOUND:
                raise
            try:
                view = catalog.load_view(at, address.namespace, address.name)
            except Failure as failure:
                raise missing from failure
            item = describe_view(name, view)
            context.output.details(view_details(item), item)
            return
    context.output.details(_details(item), item)


def _details(item: dict[str, Any]) -> list[tuple[str, Any, str]]:
    details = [
        ("Table", item["name"], "name"),
        ("Format", item["format"], ""),
        ("UUID", item.get("uuid"), ""),
        ("Metadata", item["metadata_location"], ""),
        ("Register by", item.get("register"), ""),
        ("Changed", item["changed"], "time"),
        ("Rows", item["rows"], ""),
        ("Files", item["files"], ""),
        ("Size", item["size_bytes"], "size"),
        ("Partitioned by", item["partitioning"], ""),
        ("Sorted by", item["sort_order"], ""),
    ]
    details = [each for each in details if each[1] not in (None, "")]
    for column in item["columns"]:
        text = f"{column['type']}{' required' if column['required'] else ''}"
        comment = f"  -- {column['comment']}" if column["comment"] else ""
        details.append((f"Column {printable(column['name'])}", f"{text}{comment}", ""))
    for key, value in sorted(item["properties"].items()):
        details.append((f"Property {printable(key)}", value, ""))
    for name, ref in sorted(item["refs"].items()):
        kind = str(ref.get("type")).capitalize()
        details.append((printable(f"{kind} {name}"), ref.get("snapshot-id"), ""))
    noun = "Version" if item["format"] == "delta" else "Snapshot"
    for snapshot in item["snapshots"]:
        rows = "" if snapshot["rows"] is None else f", {snapshot['rows']:,} rows"
        text = f"{snapshot['operation'] or 'snapshot'}{rows}"
        details.append((f"{noun} {snapshot['snapshot_id']}", text, ""))
    return details
