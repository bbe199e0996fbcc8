"""`fs presign`: a URL by which an object is read without credentials."""

from __future__ import annotations

from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext

__all__ = ["run"]


def run(context: CommandContext) -> None:
    """Prints the URL."""
    place = context.arguments.object
    stat = context.connection.get(
        *("repositories", place.repository, "refs", place.ref, "objects", "stat"),
        path=place.key,
        presign=True,
    )
    expiry = stat.get("physical_address_expiry")
    if not expiry:
        raise Failure("the server presigns no URLs", kind="not_supported")
    url = stat["physical_address"]
    context.output.done(url, {"url": url, "expires": expiry})
