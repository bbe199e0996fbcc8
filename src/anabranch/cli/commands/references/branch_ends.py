"""`branch-ends`: list, add and delete the rules by which new branches end."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.references.branch_rules import (
    PATTERN,
    REPOSITORY,
    BranchRules,
    Rules,
)
from anabranch.cli.framework.command import Argument, Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

EXPIRES = Argument("TIME", "How long a branch lives, such as 7d")

_COLUMNS = (Column("PATTERN", "name"), Column("EXPIRES", "number"), Column("HIDDEN", ""))
_ENDS = BranchRules("branch_ends", "branch-ends")


def _list(context: CommandContext) -> None:
    context.output.rows(_COLUMNS, _ENDS.read(context), _cells)


def _cells(rule: dict[str, Any]) -> tuple[str, str, str]:
    return rule["pattern"], rule["expires"], "hidden" if rule["hidden"] else ""


def _add(context: CommandContext) -> None:
    options = context.arguments
    rule = {"pattern": options.pattern, "expires": options.time, "hidden": bool(options.hidden)}

    def with_rule(rules: Rules) -> Rules:
        others = [old for old in rules if old["pattern"] != rule["pattern"]]
        if options.first:
            return [rule, *others]
        if len(others) == len(rules):
            return [*rules, rule]
        return [rule if old["pattern"] == rule["pattern"] else old for old in rules]

    _ENDS.change(context, with_rule)
    context.output.done(f"New branches {rule['pattern']} end after {rule['expires']}", rule)


def _delete(context: CommandContext) -> None:
    pattern = _ENDS.delete(context)
    context.output.done(f"New branches {pattern} no longer end", {"pattern": pattern})


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
