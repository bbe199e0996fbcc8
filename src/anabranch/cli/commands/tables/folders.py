"""Tables in folders, of Delta Lake and of Iceberg that the catalog does not have, described as
those of the catalog are: by the server's preview.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import address as printed
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import TableAddress, joined

__all__ = ["NO_TABLE", "find_folder_table", "folder_table", "preview", "register_command"]

NO_TABLE = "no_table"
"""The kind of the failure for a folder that holds no table."""


def preview(context: CommandContext, address: TableAddress) -> dict[str, Any]:
    """Returns what the server knows of the table in the folder of an address. Raises Failure."""
    place = ("repositories", address.repository, "refs", address.ref, "tables", "preview")
    table: dict[str, Any] = context.connection.get(*place, path=address.folder, rows=1)
    return table


def folder_table(context: CommandContext, address: TableAddress) -> dict[str, Any]:
    """Returns the description of the table in the folder of an address, as `describe` does of one
    of the catalog. Raises Failure.
    """
    table = preview(context, address)
    snapshots = [_snapshot(each) for each in reversed(table["versions"])]
    is_iceberg = table["format"] == "iceberg"
    location = f"s3://{address.repository}/{address.ref}/{table['metadata_path']}"
    return {
        "name": address.folder,
        "format": table["format"],
        "rows": table["row_count"],
        "files": table["files"],
        "size_bytes": table["size_bytes"],
        "changed": snapshots[-1]["time"] if snapshots else None,
        "location": table["location"],
        "metadata_location": location if is_iceberg else "",
        **({"register": register_command(address)} if is_iceberg else {}),
        "columns": [
            {
                "id": column["name"],
                **{name: column[name] for name in ("name", "type", "required")},
                "comment": "",
            }
            for column in table["schema"]
        ],
        "partitioning": ", ".join(table["partitioning"]),
        "sort_order": "",
        "properties": table["properties"],
        "refs": {},
        "current_snapshot_id": int(table["version"]) if table["version"] else None,
        "snapshots": snapshots,
    }


def find_folder_table(context: CommandContext, address: TableAddress) -> dict[str, Any] | None:
    """Returns as `folder_table` does, None for a folder that holds no table."""
    try:
        return folder_table(context, address)
    except Failure as failure:
        if failure.kind != NO_TABLE:
            raise
        return None


def register_command(address: TableAddress) -> str:
    """Returns the command that registers the Iceberg table in the folder of an address, under the
    names of its folders.
    """
    parts = [part for part in address.folder.split("/") if part]
    name = joined(parts if parts[1:] else ["tables", *parts])
    table = printed(address.repository, address.ref, name)
    folder = f"s3://{address.repository}/{address.ref}/{address.folder}"
    return f"anabranch table register --create-namespace {shlex.quote(table)} {shlex.quote(folder)}"


def _snapshot(version: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a version as `snapshot_item` does a snapshot."""
    time = version["time"]
    return {
        "snapshot_id": int(version["version"]),
        "time": None if time is None else time // 1000,
        "operation": version["operation"].lower(),
        "added_rows": version["added_rows"],
        "deleted_rows": version["removed_rows"],
        "rows": version["rows"],
        "files": None,
        "size_bytes": None,
    }
