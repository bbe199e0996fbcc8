"""`branch-protect`: list, add and delete the rules that protect branches.

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

_COLUMNS = (Column("PATTERN", "name"), Column("APPROVALS", "number"))
_TRIES = 5
_CHANGED_MEANWHILE = 412


def _path(context: CommandContext) -> tuple[str, ...]:
    repository: str = context.arguments.repository.repository
    return "repositories", repository, "settings", "branch_protection"


def _list(context: CommandContext) -> None:
    rules = context.connection.get(*_path(context))
    context.output.rows(_COLUMNS, rules, _cells)


def _cells(rule: dict[str, Any]) -> tuple[str, int]:
    return rule["pattern"], rule.get("required_approvals", 0)


def _add(context: CommandContext) -> None:
    rule: dict[str, Any] = {"pattern": context.arguments.pattern}
    if context.arguments.approvals is not None:
        rule["required_approvals"] = context.arguments.approvals
    _change(context, lambda rules: [*(old for old in rules if not _same(old, rule)), rule])
    context.output.done(f"Protected {rule['pattern']}", rule)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["pattern"] == other["pattern"])


def _delete(context: CommandContext) -> None:
    pattern = context.arguments.pattern

    def without(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
        remaining = [rule for rule in rules if rule["pattern"] != pattern]
        if len(remaining) == len(rules):
            raise Failure(
                f"the rule {pattern!r} does not exist",
                kind="not_found",
                hint="`anabranch branch-protect list` shows the rules.",
            )
        return remaining

    _change(context, without)
    context.output.done(f"No longer protected: {pattern}", {"pattern": pattern})


def _change(
    context: CommandContext, changed: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
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
