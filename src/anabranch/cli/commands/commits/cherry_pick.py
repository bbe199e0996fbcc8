"""`cherry-pick`: apply the changes of one commit to a branch."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.commits.revert import PARENT
from anabranch.cli.framework.address import address, ref_address, ref_or_name, same_repository
from anabranch.cli.framework.command import Argument, Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.history import commit_details

__all__ = ["COMMAND"]


def _cherry_pick(context: CommandContext) -> None:
    options = context.arguments
    commit = options.commit
    branch = same_repository(commit.repository, options.branch)
    body: dict[str, Any] = {"ref": commit.ref}
    if options.parent_number:
        body["parent_number"] = options.parent_number
    if options.message:
        body["commit_overrides"] = {"message": options.message}
    created = context.connection.send(
        *("POST", "repositories", commit.repository, "branches", branch, "cherry-pick"), body=body
    )
    if not context.output.json:
        picked = address(commit.repository, commit.ref)
        context.output.line(f"Applied {picked} to {address(commit.repository, branch)}")
    context.output.details(commit_details(created), created)


COMMAND = Command(
    "cherry-pick",
    "Apply the changes of one commit to a branch",
    _cherry_pick,
    arguments=(
        Argument("COMMIT", "The commit: lakefs://REPOSITORY/REF", parse=ref_address),
        Argument("BRANCH", "The branch to apply it to, by address or bare name", parse=ref_or_name),
    ),
    options=(
        PARENT,
        Option("--message", "A message in place of that of the commit", "TEXT", default=""),
    ),
    examples=(
        "cherry-pick lakefs://flights/fix-may lakefs://flights/main",
        "cherry-pick lakefs://flights/v1.0~2 main",
    ),
)
