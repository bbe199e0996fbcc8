"""`fs cat`."""

from __future__ import annotations

import sys

from anabranch.cli.framework.context import CommandContext

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Prints the content of an object, byte for byte."""
    place = context.arguments.object
    out = sys.stdout.buffer
    parts = ("repositories", place.repository, "refs", place.ref, "objects")
    with context.connection.download(*parts, path=place.key) as content:
        for chunk in content.chunks:
            out.write(chunk)
    out.flush()
