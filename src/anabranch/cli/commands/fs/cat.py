"""`fs cat`."""

from __future__ import annotations

import sys

from anabranch.cli.framework.context import Call

__all__ = ["run"]


def run(call: Call) -> None:
    """Prints the content of an object, byte for byte."""
    place = call.arguments.object
    out = sys.stdout.buffer
    parts = ("repositories", place.repository, "refs", place.ref, "objects")
    with call.connection.download(*parts, path=place.key) as content:
        for chunk in content.chunks:
            out.write(chunk)
    out.flush()
