"""`fs stage` and `fs update-metadata`: entries of a branch, without bytes that are sent."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.fs.stat import object_details
from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import pairs

__all__ = ["stage", "update_metadata"]


def stage(context: CommandContext) -> None:
    """Makes an object of the store an object of a branch, where it is."""
    arguments = context.arguments
    place = arguments.object
    body: dict[str, Any] = {
        "physical_address": arguments.location,
        "size_bytes": arguments.size,
        "checksum": arguments.checksum,
        "metadata": pairs(arguments.meta),
    }
    if arguments.content_type:
        body["content_type"] = arguments.content_type
    if arguments.mtime is not None:
        body["mtime"] = arguments.mtime
    item = context.connection.send(
        *("PUT", "repositories", place.repository, "branches", place.ref, "objects"),
        body=body,
        path=place.key,
    )
    context.output.details(object_details(place.repository, place.ref, item), item)


def update_metadata(context: CommandContext) -> None:
    """Replaces the metadata of an object."""
    place = context.arguments.object
    metadata = pairs(context.arguments.metadata)
    context.connection.send(
        *("PUT", "repositories", place.repository, "branches", place.ref),
        *("objects", "stat", "user_metadata"),
        body={"set": metadata},
        path=place.key,
    )
    shown = address(place.repository, place.ref, place.key)
    context.output.done(f"{shown} has the metadata given, and no other", {"metadata": metadata})
