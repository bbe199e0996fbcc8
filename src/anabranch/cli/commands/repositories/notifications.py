"""`notifications`: list, add and delete the addresses to which what happens in a repository is
sent.
"""

from __future__ import annotations

import sys
from typing import Any

from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import repository_address
from anabranch.cli.framework.command import Argument, Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column
from anabranch.model.notifications import BodyFormat, NotificationEvent

__all__ = ["COMMAND"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)

_COLUMNS = (
    Column("ID", "id"),
    Column("HOST", "name"),
    Column("FORMAT", ""),
    Column("EVENTS", ""),
)
_MAX_CHARACTERS = 10_000


def _path(context: CommandContext) -> tuple[str, ...]:
    repository: str = context.arguments.repository.repository
    return "repositories", repository, "settings", "notifications"


def _list(context: CommandContext) -> None:
    items = context.connection.get(*_path(context))["results"]
    context.output.rows(_COLUMNS, items, _cells)


def _cells(item: dict[str, Any]) -> tuple[str, ...]:
    return item["id"], item["host"], item["format"], ", ".join(item["events"]) or "all"


def _add(context: CommandContext) -> None:
    options = context.arguments
    url = options.url
    if url == "-":
        url = sys.stdin.read(_MAX_CHARACTERS).strip()
    if not url:
        raise Usage("there is no address", hint="Give it, or write it to standard input for -.")
    body = {"url": url, "format": options.format, "events": options.event or []}
    item = context.connection.send("POST", *_path(context), body=body)
    target_id = context.output.paint(item["id"], "id")
    context.output.done(f"Added {target_id}: notifications to {item['host']}", item)


def _delete(context: CommandContext) -> None:
    target_id = context.arguments.notification
    context.connection.send("DELETE", *_path(context), target_id)
    context.output.done(f"Deleted {context.output.paint(target_id, 'id')}", {"id": target_id})


COMMAND = Group(
    "notifications",
    "Send what happens in a repository to addresses",
    (
        Command(
            "list",
            "List the addresses of a repository, without what may be secret in them",
            _list,
            arguments=(REPOSITORY,),
            examples=("notifications list lakefs://flights",),
        ),
        Command(
            "add",
            "Send what happens in a repository to an address",
            _add,
            arguments=(
                REPOSITORY,
                Argument("URL", "https://host/path; - reads it from standard input"),
            ),
            options=(
                Option(
                    "--format",
                    "The body of the requests: all fields, or a sentence as Slack takes it",
                    "FORMAT",
                    choices=tuple(BodyFormat),
                    default=str(BodyFormat.JSON),
                ),
                Option(
                    "--event",
                    "Send this alone [default: everything]",
                    "EVENT",
                    choices=tuple(NotificationEvent),
                    repeat=True,
                ),
            ),
            examples=(
                "notifications add lakefs://flights https://chat.example/x --format slack",
                "notifications add lakefs://flights - --event reviewed --event commented",
            ),
        ),
        Command(
            "delete",
            "Send what happens in a repository no longer to an address",
            _delete,
            arguments=(
                REPOSITORY,
                Argument("NOTIFICATION", "The id; `notifications list` shows the ids"),
            ),
            examples=("notifications delete lakefs://flights 4okbna6jcjrrud7dfkrg",),
        ),
    ),
)
