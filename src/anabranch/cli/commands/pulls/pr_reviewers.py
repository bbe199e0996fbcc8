"""Who is asked for a review: `pr reviewers add` and `pr reviewers remove`."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.pulls.pr_discussion import PULL_REQUEST, REPOSITORY, pull_path
from anabranch.cli.errors import Usage
from anabranch.cli.framework.command import Command, Option
from anabranch.cli.framework.context import CommandContext

__all__ = ["REVIEWERS", "REVIEWER_OPTIONS", "reviewers_body", "reviewers_text"]

REVIEWER_OPTIONS = (
    Option("--reviewer", "A user to ask for a review", "USER", repeat=True),
    Option("--reviewer-group", "A group, of which one member suffices", "GROUP", repeat=True),
)


def reviewers_body(field: str, context: CommandContext) -> dict[str, Any]:
    """Returns the field of a request that names the reviewers of the options, nothing without."""
    options = context.arguments
    names = [{"name": name, "kind": "user"} for name in options.reviewer or ()]
    names += [{"name": name, "kind": "group"} for name in options.reviewer_group or ()]
    return {field: names} if names else {}


def reviewers_text(item: dict[str, Any]) -> str:
    """Returns who is asked to review a pull request, and the answers."""
    return ", ".join(
        f"{'group ' if reviewer['kind'] == 'group' else ''}{reviewer['name']}: "
        f"{reviewer['state'].replace('_', ' ')}"
        for reviewer in item.get("reviewers", ())
    )


def _add(context: CommandContext) -> None:
    _change(context, "add")


def _remove(context: CommandContext) -> None:
    _change(context, "remove")


def _change(context: CommandContext, field: str) -> None:
    body = reviewers_body(field, context)
    if not body:
        raise Usage(
            "no reviewer is named",
            hint="Name users with --reviewer, groups with --reviewer-group.",
        )
    item = context.connection.send("PATCH", *pull_path(context), "reviewers", body=body)
    pull_id = context.output.paint(context.arguments.pull_request, "id")
    context.output.done(f"Reviewers of {pull_id}: {reviewers_text(item) or 'none'}", item)


_PULL = (REPOSITORY, PULL_REQUEST)

REVIEWERS = (
    Command(
        "reviewers add",
        "Ask users and groups to review a pull request",
        _add,
        arguments=_PULL,
        options=REVIEWER_OPTIONS,
        details="Asking grants no permission: who is asked must be able to read the pull request.",
        examples=(
            "pr reviewers add lakefs://flights 5g5dm07enmmt9bsa0rc0 --reviewer bob",
            "pr reviewers add lakefs://flights 5g5dm07enmmt9bsa0rc0 --reviewer-group curators",
        ),
    ),
    Command(
        "reviewers remove",
        "Ask users and groups no longer to review a pull request",
        _remove,
        arguments=_PULL,
        options=REVIEWER_OPTIONS,
        examples=("pr reviewers remove lakefs://flights 5g5dm07enmmt9bsa0rc0 --reviewer bob",),
    ),
)
