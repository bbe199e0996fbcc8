"""`branch-ends`: list, add and delete the rules by which new branches end.

The server replaces all rules at once. Each change is therefore conditional on the ETag that was
read, and is repeated if another client changed the rules in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import repository_address
from anabranch.cli.framework.command import Argument, Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)
PATTERN = Argument("PATTERN", "The branches: a name, or a pattern with * and ?")
EXPIRES = Argument("TIME", "How long a branch lives, such as 7d")

_COLUMNS = (Column("PATTERN", "name"), Column("EXPIRES", "number"), Column("HIDDEN", ""))
_TRIES = 5
_CHANGED_MEANWHILE = 412

_Rules = list[dict[str, Any]]


def _path(context: CommandContext) -> tuple[str, ...]:
    repository: str = context.arguments.repository.repository
    return "repositories", repository, "settings", "branch_ends"


def _list(context: CommandContext) -> None:
    rules = context.connection.get(*_path(context))
    context.output.rows(_COLUMNS, rules, _cells)


def _cells(rule: dict[str, Any]) -> tuple[str, str, str]:
    return rule["pattern"], rule["expires"], "hidden" if rule["hidden"] else ""


def _add(context: CommandContext) -> None:
    options = context.arguments
    rule = {"pattern": options.pattern, "expires": options.time, "hidden": bool(options.hidden)}

    def with_rule(rules: _Rules) -> _Rules:
        others = [old for old in rules if old["pattern"] != rule["pattern"]]
        if options.first:
            return [rule, *others]
        if len(others) == len(rules):
            return [*rules, rule]
        return [rule if old["pattern"] == rule["pattern"] else old for old in rules]

    _change(context, with_rule)
    context.output.done(f"New branches {rule['pattern']} end after {rule['expires']}", rule)


def _delete(context: CommandContext) -> None:
    pattern = context.arguments.pattern

    def without(rules: _Rules) -> _Rules:
        remaining = [rule for rule in rules if rule["pattern"] != pattern]
        if len(remaining) == len(rules):
            raise Failure(
                f"the rule {pattern!r} does not exist",
                kind="not_found",
                hint="`anabranch branch-ends list` shows the rules.",
            )
        return remaining

    _change(context, without)
    context.output.done(f"New branches {pattern} no longer end", {"pattern": pattern})


def _change(context: CommandContext, changed: Callable[[_Rules], _Rules]) -> None:
    for attempt in range(1, _TRIES + 1):
        rules, tag = context.connection.get_tagged(*_path(context))
        try:
            context.connection.send("PUT", *_path(context), body=changed(rules), if_match=tag)
        except Failure as failure:
            if failure.status != _CHANGED_MEANWHILE or attempt == _TRIES:
                raise
        else:
            return


COMMAND = Group(
    "branch-ends",
    "List, add and delete rules by which new branches end",
    (
        Command(
            "list",
            "List the rules of a repository, in their order",
            _list,
            arguments=(REPOSITORY,),
            examples=("branch-ends list lakefs://flights",),
        ),
        Command(
            "add",
            "Give new branches that match a pattern an end, or change a rule",
            _add,
            arguments=(REPOSITORY, PATTERN, EXPIRES),
            options=(
                Option("--hidden", "Listings omit these branches"),
                Option("--first", "Put the rule before all others, rather than after them"),
            ),
            details="The first rule that matches the whole name of a new branch decides. Patterns "
            "are those of `branch-protect`. Branches that exist keep their ends.",
            examples=(
                "branch-ends add lakefs://flights 'dev-*' 7d",
                "branch-ends add lakefs://flights 'dev-release-*' 90d --first",
                "branch-ends add lakefs://flights 'ci:*' 12h --hidden",
            ),
        ),
        Command(
            "delete",
            "Remove a rule",
            _delete,
            arguments=(REPOSITORY, PATTERN),
            examples=("branch-ends delete lakefs://flights 'dev-*'",),
        ),
    ),
)
