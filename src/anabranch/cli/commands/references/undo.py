"""`undo`: change back what an operation has changed."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.references.operations import PLACE, change_texts, operations_path
from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import repository_address
from anabranch.cli.framework.command import Argument, Command
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND", "UNDONE", "show_undone"]

UNDONE = Argument(
    "ID",
    "The operation's id, or its beginning; by default your last one that is not undone",
    optional=True,
)


def _undo(context: CommandContext) -> None:
    options = context.arguments
    if options.place.startswith("lakefs://"):
        repository = repository_address(options.place).repository
        item = context.connection.send(
            *("POST", "repositories", repository, "undo"), body={"operation": options.id or ""}
        )
    elif options.id:
        raise Usage(
            f"{options.place} is no address of a repository",
            hint="Without a repository, name one operation of the installation.",
        )
    else:
        item = context.connection.send("POST", *operations_path(None), options.place, "undo")
    show_undone(context, item)


def show_undone(context: CommandContext, item: dict[str, Any]) -> None:
    """Shows the operation that was undone."""
    changes = "; ".join(change_texts(item))
    context.output.done(f"Undid {context.output.paint(item['id'], 'id')}: {changes}", item)


COMMAND = Command(
    "undo",
    "Change back what an operation has changed",
    _undo,
    arguments=(PLACE, UNDONE),
    details="Branches, tags and settings of a repository, or with an id alone what an operation of "
    "the installation has changed: repositories, policies, groups and attachments. "
    "A deleted branch returns with its uncommitted changes, and so does a branch that was "
    "reset. A commit that is undone stays readable by its id. If something since is in the way, "
    "nothing changes and the error says what.",
    examples=("undo lakefs://flights", "undo lakefs://flights ffe3a1c0b2d4e9a1b2c"),
)
