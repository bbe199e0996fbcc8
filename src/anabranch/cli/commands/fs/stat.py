"""`fs stat`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext

__all__ = ["object_details", "run"]


def run(context: CommandContext) -> None:
    """Shows the metadata of an object."""
    place = context.arguments.object
    item = context.connection.get(
        *("repositories", place.repository, "refs", place.ref, "objects", "stat"), path=place.key
    )
    context.output.details(object_details(place.repository, place.ref, item), item)


def object_details(repository: str, ref: str, item: dict[str, Any]) -> list[tuple[str, Any, str]]:
    """Returns the metadata of an object, as an output's details."""
    details = [
        ("Object", address(repository, ref, item["path"]), "name"),
        ("Size", item.get("size_bytes", 0), "size"),
        ("Modified", item["mtime"], "time"),
        ("Checksum", item["checksum"], ""),
        ("Content type", item.get("content_type", ""), ""),
        ("Physical address", item["physical_address"], ""),
    ]
    metadata = sorted((item.get("metadata") or {}).items())
    return details + [(f"Meta {key}", value, "") for key, value in metadata]
