"""`image rm`."""

from __future__ import annotations

from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext
from anabranch.model.uri import IMAGES

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Removes an image."""
    tag = context.arguments.tag
    place = address(IMAGES, tag)
    context.confirm(f"Remove the image {place}?")
    context.connection.send("DELETE", "images", tag)
    context.output.done(f"Removed {place}")
