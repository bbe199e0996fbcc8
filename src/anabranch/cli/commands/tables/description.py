"""`table show`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.tables.catalog import catalog_of, reference_of
from anabranch.cli.commands.tables.metadata import (
    columns_of,
    partitioning_of,
    snapshot_item,
    snapshots_of,
    sort_order_of,
    summary_of,
)
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import joined
from anabranch.cli.output.format import printable

__all__ = ["describe", "run"]


def run(context: CommandContext) -> None:
    """Shows a table: schema, partitioning, properties, snapshots and sizes."""
    address = context.arguments.table
    with catalog_of(context) as catalog:
        table = catalog.load(reference_of(address), address.namespace, address.name)
    item = describe(joined(address.parts), table)
    context.output.details(_details(item), item)


def describe(name: str, table: dict[str, Any]) -> dict[str, Any]:
    """Returns the description of a table that was loaded."""
    metadata = table["metadata"]
    return {
        "name": name,
        "uuid": metadata.get("table-uuid"),
        **summary_of(table),
        "location": metadata.get("location"),
        "metadata_location": table["metadata-location"],
        "columns": [column._asdict() for column in columns_of(metadata)],
        "partitioning": partitioning_of(metadata),
        "sort_order": sort_order_of(metadata),
        "properties": metadata.get("properties") or {},
        "refs": metadata.get("refs") or {},
        "current_snapshot_id": metadata.get("current-snapshot-id"),
        "snapshots": [snapshot_item(each) for each in snapshots_of(metadata).values()],
    }


def _details(item: dict[str, Any]) -> list[tuple[str, Any, str]]:
    details = [
        ("Table", item["name"], "name"),
        ("Format", item["format"], ""),
        ("UUID", item["uuid"], ""),
        ("Metadata", item["metadata_location"], ""),
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
    for snapshot in item["snapshots"]:
        rows = "" if snapshot["rows"] is None else f", {snapshot['rows']:,} rows"
        text = f"{snapshot['operation'] or 'snapshot'}{rows}"
        details.append((f"Snapshot {snapshot['snapshot_id']}", text, ""))
    return details
