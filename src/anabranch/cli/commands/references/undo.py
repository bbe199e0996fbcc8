"""`undo`: change branches and tags back to what they were before an operation."""

from __future__ import annotations

from anabranch.cli.commands.references.operations import REPOSITORY, change_text
from anabranch.cli.framework.command import Argument, Command
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]


def _undo(context: CommandContext) -> None:
    options = context.arguments
    item = context.connection.send(
        *("POST", "repositories", options.repository.repository, "undo"),
        body={"operation": options.id or ""},
    )
    changes = "; ".join(map(change_text, item["changes"]))
    context.output.done(f"Undid {context.output.paint(item['id'], 'id')}: {changes}", item)


COMMAND = Command(
    "undo",
    "Change branches and tags back to what they were before an operation",
    _undo,
    arguments=(
        REPOSITORY,
        Argument(
            "ID",
            "The operation's id, or its beginning; by default your last one that is not undone",
            optional=True,
        ),
    ),
    details="A deleted branch returns with its uncommitted changes, and so does a branch that was "
    "reset. A commit that is undone stays readable by its id. If something since is in the way, "
    "nothing changes and the error says what.",
    examples=("undo lakefs://flights", "undo lakefs://flights ffe3a1c0b2d4e9a1b2c"),
)
