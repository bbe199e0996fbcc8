"""`show`: a commit with its message and metadata."""

from __future__ import annotations

from anabranch.cli.framework.address import ref_address
from anabranch.cli.framework.command import Argument, Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.history import commit_details

__all__ = ["COMMAND"]


def _show(context: CommandContext) -> None:
    ref = context.arguments.ref
    item = context.connection.get("repositories", ref.repository, "commits", ref.ref)
    details = commit_details(item)
    if context.arguments.show_meta_range_id:
        details.append(("Metarange", item["meta_range_id"], ""))
    context.output.details(details, item)


COMMAND = Group(
    "show",
    "Show a commit",
    (
        Command(
            "commit",
            "Show a commit",
            _show,
            arguments=(
                Argument(
                    "REF", "A branch, tag or commit: lakefs://REPOSITORY/REF", parse=ref_address
                ),
            ),
            options=(
                Option("--show-meta-range-id", "Show the identifier of the commit's tree, too"),
            ),
            examples=("show lakefs://flights/main", "show commit lakefs://flights/main~2"),
        ),
    ),
    details="The word `commit` is optional.",
    default="commit",
)
