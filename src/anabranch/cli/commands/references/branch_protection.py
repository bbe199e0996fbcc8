"""`branch-protect`: list, add and delete the rules that protect branches."""

from __future__ import annotations

from typing import Any

from anabranch.cli.commands.references.branch_rules import PATTERN, REPOSITORY, BranchRules
from anabranch.cli.framework.command import Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

_COLUMNS = (Column("PATTERN", "name"), Column("APPROVALS", "number"))
_PROTECTION = BranchRules("branch_protection", "branch-protect")


def _list(context: CommandContext) -> None:
    context.output.rows(_COLUMNS, _PROTECTION.read(context), _cells)


def _cells(rule: dict[str, Any]) -> tuple[str, int]:
    return rule["pattern"], rule.get("required_approvals", 0)


def _add(context: CommandContext) -> None:
    rule: dict[str, Any] = {"pattern": context.arguments.pattern}
    if context.arguments.approvals is not None:
        rule["required_approvals"] = context.arguments.approvals
    _PROTECTION.change(
        context, lambda rules: [*(old for old in rules if not _same(old, rule)), rule]
    )
    context.output.done(f"Protected {rule['pattern']}", rule)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["pattern"] == other["pattern"])


def _delete(context: CommandContext) -> None:
    pattern = _PROTECTION.delete(context)
    context.output.done(f"No longer protected: {pattern}", {"pattern": pattern})


COMMAND = Group(
    "branch-protect",
    "List, add and delete rules that protect branches",
    (
        Command(
            "list",
            "List the rules of a repository",
            _list,
            arguments=(REPOSITORY,),
            examples=("branch-protect list lakefs://flights",),
        ),
        Command(
            "add",
            "Protect branches: they change only by merges, not by direct writes and commits",
            _add,
            arguments=(REPOSITORY, PATTERN),
            options=(
                Option(
                    "--approvals",
                    "Merge only pull requests with N approvals, 0 to 10; as before by default",
                    "N",
                    parse=int,
                ),
            ),
            details="A pattern is matched against the whole name. `*` stands for any text, `?` for "
            "any character; `[abc]`, `[a-z]`, `[!a]` and `{this,that}` are known too.",
            examples=(
                "branch-protect add lakefs://flights main",
                "branch-protect add lakefs://flights 'release-*'",
                "branch-protect add lakefs://flights main --approvals 2",
            ),
        ),
        Command(
            "delete",
            "Remove a rule",
            _delete,
            arguments=(REPOSITORY, PATTERN),
            examples=("branch-protect delete lakefs://flights 'release-*'",),
        ),
    ),
)
