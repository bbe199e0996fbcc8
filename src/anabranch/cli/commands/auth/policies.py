"""`auth policies`: policies, from and to JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from anabranch.cli.commands.auth.users import POLICY_COLUMNS, names
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.command import YES, Command, Option, listing_options
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMANDS"]

_ID = Option("--id", "Name of the policy", "NAME", required=True)
_CONFLICT = 409


def _list(context: CommandContext) -> None:
    names(context, POLICY_COLUMNS, "auth", "policies")


def _show(context: CommandContext) -> None:
    item = context.connection.get("auth", "policies", context.arguments.id)
    if context.output.json:
        context.output.details([], item)
    else:
        context.output.line(json.dumps({"statement": item["statement"]}, indent=2))


def _create(context: CommandContext) -> None:
    options = context.arguments
    body = {"id": options.id, "statement": _read_statements(options.statement_document)}
    try:
        item = context.connection.send("POST", "auth", "policies", body=body)
    except Failure as failure:
        if failure.status != _CONFLICT or not options.force:
            raise
        item = context.connection.send("PUT", "auth", "policies", options.id, body=body)
        context.output.done(f"Replaced the policy {options.id}", item)
    else:
        context.output.done(f"Created the policy {options.id}", item)


def _delete(context: CommandContext) -> None:
    policy = context.arguments.id
    context.confirm(f"Delete the policy {policy}, and detach it everywhere?")
    context.connection.send("DELETE", "auth", "policies", policy)
    context.output.done(f"Deleted the policy {policy}")


def _read_statements(name: str) -> list[Any]:
    """Returns the statements in a file; lists of resources are sent as JSON, as lakectl does."""
    text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    statements = document.get("statement") if isinstance(document, dict) else document
    if not isinstance(statements, list):
        raise Usage(
            f"{name}: not a policy document",
            hint='It is JSON: {"statement": [{"effect": "allow", "action": ["fs:Read*"], '
            '"resource": "*"}]}.',
        )
    for statement in statements:
        if isinstance(statement, dict) and isinstance(statement.get("resource"), list):
            statement["resource"] = json.dumps(statement["resource"])
    return statements


COMMANDS = (
    Command(
        "policies list",
        "List policies",
        _list,
        options=listing_options("policies"),
        examples=("auth policies list",),
    ),
    Command(
        "policies show",
        "Show the statements of a policy as JSON",
        _show,
        options=(_ID,),
        examples=("auth policies show --id FSReadAll",),
    ),
    Command(
        "policies create",
        "Create a policy",
        _create,
        options=(
            _ID,
            Option(
                "--statement-document",
                'File with the policy, JSON: {"statement": […]}; `-`: standard input',
                "FILE",
                required=True,
            ),
            Option("-f, --force", "Replace the policy if it exists"),
        ),
        details="docs/access-control.md describes policies. `fs:*` does not include pull requests: "
        "name `pr:*` as well.",
        examples=("auth policies create --id Analysts --statement-document analysts.json",),
    ),
    Command(
        "policies delete",
        "Delete a policy and detach it everywhere",
        _delete,
        options=(_ID, YES),
        examples=("auth policies delete --id Analysts",),
    ),
)
