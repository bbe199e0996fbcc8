"""The retention rules: `gc get-config`, `set-config` and `delete-config`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import repository_address
from anabranch.cli.framework.command import Argument, Command, Option, at_least_zero
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["REPOSITORY", "RULES"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)

_COLUMNS = (Column("BRANCH", "name"), Column("DAYS", "number"))
_OTHERS = "(all others)"


def _path(context: CommandContext) -> tuple[str, ...]:
    repository: str = context.arguments.repository.repository
    return "repositories", repository, "settings", "gc_rules"


def _get_config(context: CommandContext) -> None:
    rules = context.connection.get(*_path(context))
    if context.output.json:
        context.output.document(rules)
        return
    rows = [(rule["branch_id"], rule["retention_days"]) for rule in rules["branches"]]
    rows.append((_OTHERS, rules["default_retention_days"]))
    context.output.rows(_COLUMNS, rows, lambda row: row)


def _set_config(context: CommandContext) -> None:
    given = context.arguments
    if given.filename is not None:
        text = (
            sys.stdin.read() if given.filename == "-" else Path(given.filename).read_text("utf-8")
        )
        try:
            rules = json.loads(text)
        except ValueError as error:
            raise Usage(f"{given.filename}: this is not JSON: {error}") from error
    elif given.default is None:
        raise Usage("no rules are given", hint="Give --default, or a file with -f.")
    else:
        days = dict(given.branch)
        branches = [{"branch_id": name, "retention_days": days[name]} for name in sorted(days)]
        rules = {"default_retention_days": given.default, "branches": branches}
    context.connection.send("PUT", *_path(context), body=rules)
    context.output.done("Set the rules", rules)


def _delete_config(context: CommandContext) -> None:
    context.connection.send("DELETE", *_path(context))
    context.output.done("Deleted the rules: all commits are kept", {})


def _rule(text: str) -> tuple[str, int]:
    name, equals, days = text.rpartition("=")
    if not name or not equals:
        raise ValueError(text)
    return name, at_least_zero(days)


RULES = (
    Command(
        "get-config",
        "Show the retention rules of a repository",
        _get_config,
        arguments=(REPOSITORY,),
        examples=("gc get-config lakefs://flights",),
    ),
    Command(
        "set-config",
        "Replace the retention rules of a repository",
        _set_config,
        arguments=(REPOSITORY,),
        options=(
            Option(
                "-f, --filename", "Read the rules from this JSON file; - is standard input", "FILE"
            ),
            Option(
                "--default",
                "The retention days of branches without a rule",
                "DAYS",
                parse=at_least_zero,
            ),
            Option(
                "--branch", "The retention days of a branch", "NAME=DAYS", parse=_rule, repeat=True
            ),
        ),
        details='As JSON rules are `{"default_retention_days": 21, "branches": '
        '[{"branch_id": "main", "retention_days": 28}]}`.',
        examples=(
            "gc set-config lakefs://flights --default 21 --branch main=28",
            "gc set-config lakefs://flights -f rules.json",
        ),
    ),
    Command(
        "delete-config",
        "Delete the retention rules: all commits are then kept",
        _delete_config,
        arguments=(REPOSITORY,),
        examples=("gc delete-config lakefs://flights",),
    ),
)
