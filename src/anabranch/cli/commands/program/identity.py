"""`identity`: the user whose credentials are used."""

from __future__ import annotations

from anabranch.cli.errors import Failure
from anabranch.cli.framework.command import Command
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]


def _identity(context: CommandContext) -> None:
    user = context.connection.get("user")["user"]
    if not user.get("id"):
        raise Failure(
            "the server does not know who you are",
            kind="unauthenticated",
            hint="`anabranch login` saves the credentials of a server.",
        )
    details = [("User", user["id"], "name")]
    if user.get("email"):
        details.append(("Email", user["email"], ""))
    details += [
        ("Created", user["creation_date"], "time"),
        ("Server", context.settings.server, ""),
    ]
    context.output.details(details, user)


COMMAND = Command(
    "identity",
    "Show which user the credentials in force belong to",
    _identity,
    examples=("identity", "identity --json"),
)
