"""What the metadata of a view say, as people read it: its SQL and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.cli.commands.tables.metadata import columns_of
from anabranch.cli.output.format import printable

__all__ = ["describe_view", "view_details"]


def describe_view(name: str, view: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the description of a view that was loaded: of its current version."""
    metadata = view["metadata"]
    versions = {each["version-id"]: each for each in metadata["versions"]}
    current = versions[metadata["current-version-id"]]
    schema = {"schemas": metadata["schemas"], "current-schema-id": current["schema-id"]}
    return {
        "name": name,
        "type": "view",
        "format": "iceberg",
        "uuid": metadata.get("view-uuid"),
        "metadata_location": view["metadata-location"],
        "changed": current["timestamp-ms"] // 1000,
        "columns": [column._asdict() for column in columns_of(schema)],
        "default_catalog": current.get("default-catalog"),
        "default_namespace": current["default-namespace"],
        "sql": [
            {"dialect": each["dialect"], "sql": each["sql"]} for each in current["representations"]
        ],
        "properties": metadata.get("properties") or {},
        "versions": sorted(versions),
    }


def view_details(item: Mapping[str, Any]) -> list[tuple[str, Any, str]]:
    """Returns the lines that describe a view."""
    details: list[tuple[str, Any, str]] = [
        ("View", item["name"], "name"),
        ("UUID", item["uuid"], ""),
        ("Metadata", item["metadata_location"], ""),
        ("Changed", item["changed"], "time"),
        ("Versions", len(item["versions"]), ""),
        ("Default namespace", ".".join(item["default_namespace"]), ""),
    ]
    for column in item["columns"]:
        comment = f"  -- {column['comment']}" if column["comment"] else ""
        details.append((f"Column {printable(column['name'])}", f"{column['type']}{comment}", ""))
    for key, value in sorted(item["properties"].items()):
        details.append((f"Property {printable(key)}", value, ""))
    details += [(f"SQL of {printable(each['dialect'])}", each["sql"], "") for each in item["sql"]]
    return [each for each in details if each[1] not in (None, "")]
