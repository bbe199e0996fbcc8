"""`image rm`."""

from __future__ import annotations

from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import Call
from anabranch.model.uri import IMAGES

__all__ = ["run"]


def run(call: Call) -> None:
    """Removes an image."""
    tag = call.arguments.tag
    place = address(IMAGES, tag)
    call.confirm(f"Remove the image {place}?")
    call.connection.send("DELETE", "images", tag)
    call.output.done(f"Removed {place}")
