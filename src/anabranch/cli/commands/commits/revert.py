"""`branch revert`: undo commits on a branch, each by a new commit."""

from __future__ import annotations

from anabranch.cli.framework.address import address, ref_address, ref_or_name, same_repository
from anabranch.cli.framework.command import YES, Argument, Command, Option, positive
from anabranch.cli.framework.context import CommandContext

__all__ = ["PARENT", "REVERT"]

PARENT = Option(
    "-m, --parent-number",
    "For a merge commit: the parent, counted from 1, whose side is kept",
    "N",
    parse=positive,
)


def _revert(context: CommandContext) -> None:
    options = context.arguments
    branch = options.branch
    place = address(branch.repository, branch.ref)
    repository = ("repositories", branch.repository)
    refs = [same_repository(branch.repository, commit) for commit in options.commit]
    ids = [context.connection.get(*repository, "commits", ref)["id"] for ref in refs]
    context.confirm(f"Revert {' and '.join(refs)} on {place}?")
    commits = context.connection.send(
        *("POST", *repository, "branches", branch.ref, "reverts"),
        body={
            "refs": ids,
            "parent_number": options.parent_number or 0,
            "allow_empty": options.allow_empty_commit,
        },
    )["results"]
    head = commits[-1]["id"]
    context.output.done(
        f"Reverted {' and '.join(refs)} on {place} at {context.output.paint(head, 'id')}",
        {"reverted": ids, "commit_id": head},
    )


REVERT = Command(
    "revert",
    "Undo commits on a branch, each by a new commit",
    _revert,
    arguments=(
        Argument("BRANCH", "The branch: lakefs://REPOSITORY/BRANCH", parse=ref_address),
        Argument(
            "COMMIT",
            "A commit to undo: an address or a bare name; several are undone in this order",
            parse=ref_or_name,
            repeat=True,
        ),
    ),
    options=(PARENT, Option("--allow-empty-commit", "Commit even if nothing changes"), YES),
    details="All commits are looked up before the first one is undone: main~1 means that of the "
    "branch as it is. Either all are undone or none.",
    examples=(
        "branch revert lakefs://flights/main main",
        "branch revert lakefs://flights/main main~1 main~2 --yes",
    ),
)
