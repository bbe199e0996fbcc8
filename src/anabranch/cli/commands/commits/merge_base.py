"""`find-merge-base`: the best common ancestor of two references."""

from __future__ import annotations

from anabranch.cli.framework.address import ref_address, ref_or_name, same_repository
from anabranch.cli.framework.command import Argument, Command
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]


def _find(context: CommandContext) -> None:
    source = context.arguments.source
    destination = same_repository(source.repository, context.arguments.destination)
    found = context.connection.get(
        "repositories", source.repository, "refs", source.ref, "merge", destination
    )
    context.output.done(context.output.paint(found["base_commit_id"], "id"), found)


COMMAND = Command(
    "find-merge-base",
    "Show the merge base of two references",
    _find,
    arguments=(
        Argument("SOURCE", "A branch, tag or commit: lakefs://REPOSITORY/REF", parse=ref_address),
        Argument("DESTINATION", "A second one, by address or bare name", parse=ref_or_name),
    ),
    details="""Prints the id of the best common ancestor: the commit that a merge compares both
            sides with.
            """,
    examples=("find-merge-base lakefs://flights/fix-may main",),
)
