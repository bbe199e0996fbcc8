"""`op`: the operations that have changed the branches, tags and settings of a repository, and those
of the installation; restore branches and tags.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import address, repository_address
from anabranch.cli.framework.command import (
    YES,
    Argument,
    Command,
    Group,
    Option,
    at_least_zero,
    positive,
)
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column
from anabranch.client.rest_client import Request
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND", "PLACE", "change_texts", "operations_path"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)

ID = Argument("ID", "The operation's id, or its beginning")
_OPTIONAL_ID = Argument("ID", "The operation's id, or its beginning", optional=True)

_OPTIONAL_REPOSITORY = Argument(
    "REPOSITORY",
    "The repository: lakefs://REPOSITORY; without one, the installation",
    parse=repository_address,
    optional=True,
)
PLACE = Argument("PLACE", "The repository, or the id of an operation of the installation")

_COLUMNS = (
    Column("ID", "id"),
    Column("TIME", "time"),
    Column("USER"),
    Column("ACTION"),
    Column("CHANGES"),
)
_ENDS = {"Undone": "undone_at", "Given up": "given_up_at"}
_SHOWN_CHANGES = 3
_SHOWN_DIGITS = 12
_NEWEST = 100


def _log(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *operations_path(options.repository),
        amount=options.amount,
        after=options.before or None,
    )
    context.output.rows(_COLUMNS, pages, _cells)
    context.output.more(pages.next_offset)


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    texts = change_texts(item)
    changes = texts[:_SHOWN_CHANGES]
    left = len(texts) - len(changes)
    more = [f"and {left} more"] if left else []
    return item["id"], item["time"], item["user"], item["action"], ", ".join([*changes, *more])


def operations_path(place: LakeUri | None) -> tuple[str, ...]:
    """Returns the path of the operations of a repository, or of those of the installation."""
    if place is None:
        return ("installation", "operations")
    return ("repositories", place.repository, "operations")


def change_texts(item: dict[str, Any]) -> list[str]:
    """Returns what an operation has changed."""
    changes = [change_text(change) for change in item["changes"]]
    return changes + [_setting_text(change) for change in item["settings"]]


def _setting_text(change: dict[str, Any]) -> str:
    noun = " ".join([change["kind"].replace("_", " "), *filter(None, [change["name"]])])
    if change["before"] is None:
        return f"{noun} {'created' if change['name'] else 'set'}"
    if change["after"] is None:
        return f"{noun} {'deleted' if change['name'] else 'removed'}"
    if change["kind"] == "pull_request":
        statuses = [change[side].get("status") for side in ("before", "after")]
        if statuses[0] != statuses[1]:
            return f"{noun} {'reopened' if statuses[1] == 'open' else statuses[1]}"
    return f"{noun} changed"


def change_text(change: dict[str, Any]) -> str:
    """Returns what has happened to a branch or a tag."""
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
    place, operation = _named(options)
    item = context.connection.get(*operations_path(place), operation)
    details = [
        ("Operation", item["id"], "id"),
        ("Time", item["time"], "time"),
        ("User", item["user"], "text"),
        *([("Workspace", item["workspace"], "text")] if item.get("workspace") else []),
        ("Action", item["action"], "text"),
        ("Request", item["request_id"], "text"),
        *((word, item[at], "time") for word, at in _ENDS.items() if item[at]),
    ]
    details += [("Change", text, "text") for text in change_texts(item)]
    for change in item["settings"]:
        details += [
            (side.capitalize(), json.dumps(change[side]), "text")
            for side in ("before", "after")
            if change[side]
        ]
    context.output.details(details, item)


def _named(options: Any) -> tuple[LakeUri | None, str]:
    """Returns the repository and the id that are given; an id alone is of the installation."""
    if options.id:
        return repository_address(options.place), options.id
    if options.place.startswith("lakefs://"):
        raise Usage("which operation?", hint="Give its id: `anabranch op log` lists them.")
    return None, options.place


def _restore(context: CommandContext) -> None:
    options = context.arguments
    repository = options.repository.repository
    context.confirm(
        f"Change all branches and tags of {repository} back to what they were after {options.id}?"
    )
    # the id by which the log names the operation that this request makes
    request_id = uuid.uuid4().hex
    segments = ("repositories", repository, "operations", options.id, "restore")
    request = Request("POST", segments, headers={"X-Request-ID": request_id})
    item = context.connection.request_json(request)
    newest = context.connection.pages(*operations_path(options.repository), amount=_NEWEST)
    made = next((each for each in newest if each["request_id"] == request_id), None)
    place, shown = address(repository), context.output.paint(item["id"], "id")
    text = f"Restored the branches and tags of {place} after {shown}"
    if made is not None:
        text = "\n  ".join([f"{text}:", *change_texts(made)])
    context.output.done(text, {**item, "restore": made})


def _forget(context: CommandContext) -> None:
    options = context.arguments
    repository = options.repository.repository
    context.confirm(
        f"Let garbage collection remove what only {options.id} needs? It cannot be undone then."
    )
    context.connection.send(
        *("POST", "repositories", repository, "operations", options.id, "give_up")
    )
    context.output.done(f"{options.id} can no longer be undone, and keeps nothing")


def _days(context: CommandContext) -> None:
    options = context.arguments
    path = ("repositories", options.repository.repository, "settings", "undo_days")
    if options.set is None and not options.default:
        item = context.connection.get(*path)
    else:
        if options.set is not None and options.default:
            raise Usage("--set and --default exclude each other", hint="Give one of them.")
        item = context.connection.send("PUT", *path, body={"undo_days": options.set})
    days = item["undo_days"]
    context.output.done(f"Operations can be undone for {days} day{'s' * (days != 1)}", item)


COMMAND = Group(
    "op",
    "Show and undo changes; restore branches and tags",
    (
        Command(
            "log",
            "List the operations of a repository, newest first",
            _log,
            arguments=(_OPTIONAL_REPOSITORY,),
            options=(
                Option("--amount", "Show at most N operations; 100 by default", "N", positive, 100),
                Option("--before", "Show only operations before this id", "ID", default=""),
            ),
            details="Commits, merges, resets, branches and tags that were created or deleted, and "
            "settings. A reference can be read as it was after one: "
            "lakefs://flights/main@{op:ID}/. Without a repository, those of the installation: "
            "repositories, policies, groups and attachments.",
            examples=("op log lakefs://flights", "op log lakefs://flights --json", "op log"),
        ),
        Command(
            "show",
            "Show an operation",
            _show,
            arguments=(PLACE, _OPTIONAL_ID),
            examples=("op show lakefs://flights ffe3a1c0b2d4e9a1b2c",),
        ),
        Command(
            "restore",
            "Change all branches and tags back to what they were after an operation",
            _restore,
            arguments=(REPOSITORY, ID),
            options=(YES,),
            details="Branches that were deleted or reset since return with the changes that were "
            "uncommitted then. Pull requests that were merged since are open again, and those that "
            "are left without a branch are closed. This is an operation itself, which can be "
            "undone. What it has changed is listed.",
            examples=("op restore lakefs://flights ffe3a1c0b2d4e9a1b2c",),
        ),
        Command(
            "forget",
            "Let garbage collection remove what only an operation needs",
            _forget,
            arguments=(REPOSITORY, ID),
            options=(YES,),
            details="For what must be erased. The operation stays in the log, and can no longer be "
            "undone.",
            examples=("op forget lakefs://flights ffe3a1c0b2d4e9a1b2c",),
        ),
        Command(
            "days",
            "Show or set for how many days operations can be undone",
            _days,
            arguments=(REPOSITORY,),
            options=(
                Option("--set", "The number of days; 0: nothing is kept", "N", at_least_zero),
                Option("--default", "Use the number of the installation again"),
            ),
            examples=("op days lakefs://flights", "op days lakefs://flights --set 7"),
        ),
    ),
)
