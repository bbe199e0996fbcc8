"""`commit`: commit a branch's changes."""

from __future__ import annotations

from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import address, ref_address
from anabranch.cli.framework.command import Argument, Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import META, pairs
from anabranch.cli.output.history import commit_details

__all__ = ["COMMAND"]


def _commit(context: CommandContext) -> None:
    options = context.arguments
    if not options.message and not options.allow_empty_message:
        raise Usage(
            "a commit needs a message",
            hint="Add -m 'what changed and why', or --allow-empty-message.",
        )
    body = {
        "message": options.message,
        "metadata": pairs(options.meta),
        "allow_empty": options.allow_empty_commit,
    }
    branch = options.branch
    commit = context.connection.send(
        *("POST", "repositories", branch.repository, "branches", branch.ref, "commits"), body=body
    )
    if not context.output.json:
        context.output.line(f"Committed to {address(branch.repository, branch.ref)}")
    context.output.details(commit_details(commit), commit)


COMMAND = Command(
    "commit",
    "Commit a branch's changes",
    _commit,
    arguments=(Argument("BRANCH", "The branch: lakefs://REPOSITORY/BRANCH", parse=ref_address),),
    options=(
        Option("-m, --message", "What changed, and why", "TEXT", default=""),
        META,
        Option("--allow-empty-message", "Commit without a message"),
        Option("--allow-empty-commit", "Commit even if nothing changed"),
    ),
    examples=("commit lakefs://flights/fix-may -m 'Correct the delays of May' --meta ticket=1234",),
)
