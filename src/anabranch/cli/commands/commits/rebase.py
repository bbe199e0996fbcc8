"""`rebase`: replay a branch's own commits onto another reference."""

from __future__ import annotations

from anabranch.cli.framework.address import address, ref_address, ref_or_name, same_repository
from anabranch.cli.framework.command import YES, Argument, Command
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]


def _rebase(context: CommandContext) -> None:
    branch = context.arguments.branch
    onto = same_repository(branch.repository, context.arguments.onto)
    place = address(branch.repository, branch.ref)
    context.confirm(f"Replay the commits of {place} onto {onto}?")
    result = context.connection.send(
        *("POST", "repositories", branch.repository, "branches", branch.ref, "rebase"),
        body={"onto": onto},
    )
    replayed, dropped = result["replayed"], result["dropped"]
    text = f"Rebased {place} onto {onto} at {context.output.paint(result['commit_id'], 'id')}"
    counts = f"{replayed} {'commit' if replayed == 1 else 'commits'} replayed"
    if dropped:
        counts += f", {dropped} dropped that the new base has already"
    context.output.done(f"{text}: {counts}", result)


COMMAND = Command(
    "rebase",
    "Replay a branch's own commits onto another reference",
    _rebase,
    arguments=(
        Argument("BRANCH", "The branch: lakefs://REPOSITORY/BRANCH", parse=ref_address),
        Argument("ONTO", "A branch, tag or commit, by address or bare name", parse=ref_or_name),
    ),
    options=(YES,),
    details="The commits get new ids; the former head stays reachable by its id until garbage "
    "collection expires it. A conflict changes nothing.",
    examples=("rebase lakefs://flights/fix-may main --yes",),
)
