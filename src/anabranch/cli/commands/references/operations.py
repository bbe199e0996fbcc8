"""`op`: the operations that have changed the branches and tags of a repository."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.address import repository_address
from anabranch.cli.framework.command import Argument, Command, Group, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)

_COLUMNS = (
    Column("ID", "id"),
    Column("TIME", "time"),
    Column("USER"),
    Column("ACTION"),
    Column("CHANGES"),
)
_SHOWN_CHANGES = 3
_SHOWN_DIGITS = 12


def _log(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *("repositories", options.repository.repository, "operations"),
        amount=options.amount,
        after=options.before or None,
    )
    context.output.rows(_COLUMNS, pages, _cells)
    context.output.more(pages.next_offset)


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    changes = [_change(change) for change in item["changes"][:_SHOWN_CHANGES]]
    left = len(item["changes"]) - len(changes)
    more = [f"and {left} more"] if left else []
    return item["id"], item["time"], item["user"], item["action"], ", ".join([*changes, *more])


def _change(change: dict[str, Any]) -> str:
    name = f"{change['type']} {change['name']}"
    before, after = (change[side][:_SHOWN_DIGITS] for side in ("before", "after"))
    if not before:
        return f"{name} created at {after}"
    if not after:
        return f"{name} deleted at {before}"
    if before == after:
        return f"{name} reset at {after}"
    return f"{name} {before} → {after}"


def _show(context: CommandContext) -> None:
    options = context.arguments
    item = context.connection.get(
        *("repositories", options.repository.repository, "operations", options.id)
    )
    details = [
        ("Operation", item["id"], "id"),
        ("Time", item["time"], "time"),
        ("User", item["user"], "text"),
        ("Action", item["action"], "text"),
        ("Request", item["request_id"], "text"),
    ]
    details += [("Change", _change(change), "text") for change in item["changes"]]
    context.output.details(details, item)


COMMAND = Group(
    "op",
    "Show what has changed branches and tags",
    (
        Command(
            "log",
            "List the operations of a repository, newest first",
            _log,
            arguments=(REPOSITORY,),
            options=(
                Option("--amount", "Show at most N operations; 100 by default", "N", positive, 100),
                Option("--before", "Show only operations before this id", "ID", default=""),
            ),
            details="Commits, merges, resets, and branches and tags that were created or deleted. "
            "A reference can be read as it was after one: lakefs://flights/main@{op:ID}/",
            examples=("op log lakefs://flights", "op log lakefs://flights --json"),
        ),
        Command(
            "show",
            "Show an operation",
            _show,
            arguments=(
                REPOSITORY,
                Argument("ID", "The operation's id, or its beginning"),
            ),
            examples=("op show lakefs://flights ffe3a1c0b2d4e9a1b2c",),
        ),
    ),
)
