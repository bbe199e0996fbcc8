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
from anabranch.cli.framework.context import Call
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)
PATTERN = Argument("PATTERN", "The branches: a name, or a pattern with * and ?")

_COLUMNS = (Column("PATTERN", "name"), Column("APPROVALS", "number"))
_TRIES = 5
_CHANGED_MEANWHILE = 412


def _path(call: Call) -> tuple[str, ...]:
    repository: str = call.arguments.repository.repository
    return "repositories", repository, "settings", "branch_protection"


def _list(call: Call) -> None:
    rules = call.connection.get(*_path(call))
    call.output.rows(_COLUMNS, rules, _cells)


def _cells(rule: dict[str, Any]) -> tuple[str, int]:
    return rule["pattern"], rule.get("required_approvals", 0)


def _add(call: Call) -> None:
    rule: dict[str, Any] = {"pattern": call.arguments.pattern}
    if call.arguments.approvals is not None:
        rule["required_approvals"] = call.arguments.approvals
    _change(call, lambda rules: [*(old for old in rules if not _same(old, rule)), rule])
    call.output.done(f"Protected {rule['pattern']}", rule)


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return bool(one["pattern"] == other["pattern"])


def _delete(call: Call) -> None:
    pattern = call.arguments.pattern

    def without(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
        remaining = [rule for rule in rules if rule["pattern"] != pattern]
        if len(remaining) == len(rules):
            raise Failure(
                f"the rule {pattern!r} does not exist",
                kind="not_found",
                hint="`anabranch branch-protect list` shows the rules.",
            )
        return remaining

    _change(call, without)
    call.output.done(f"No longer protected: {pattern}", {"pattern": pattern})


def _change(call: Call, changed: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    for attempt in range(1, _TRIES + 1):
        rules, tag = call.connection.get_tagged(*_path(call))
        try:
            call.connection.send("PUT", *_path(call), body=changed(rules), if_match=tag)
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
