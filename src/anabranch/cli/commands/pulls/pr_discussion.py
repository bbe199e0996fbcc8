"""Comments on pull requests and reviews: `pr comment`, `pr comments`, `pr approve`,
`pr request-changes` and `pr reviews`.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from anabranch.cli.framework.address import repository_address
from anabranch.cli.framework.command import (
    Argument,
    Command,
    Option,
    listing_options,
    positive,
)
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["DISCUSSION", "PULL_REQUEST", "REPOSITORY", "pull_path", "seconds"]

REPOSITORY = Argument("REPOSITORY", "The repository: lakefs://REPOSITORY", parse=repository_address)
PULL_REQUEST = Argument("PULL-REQUEST", "The id of the pull request; `pr list` shows the ids")

_COMMENT_COLUMNS = (
    Column("ID", "id"),
    Column("AUTHOR", ""),
    Column("CREATED", "time"),
    Column("PATH", "name"),
    Column("TEXT", ""),
)
_REVIEW_COLUMNS = (
    Column("ID", "id"),
    Column("AUTHOR", ""),
    Column("CREATED", "time"),
    Column("STATE", ""),
    Column("COUNTS", ""),
    Column("COMMIT", "id"),
    Column("TEXT", ""),
)


def pull_path(context: CommandContext) -> tuple[str, ...]:
    """Returns the path of the pull request that the arguments name."""
    options = context.arguments
    return "repositories", options.repository.repository, "pulls", options.pull_request


def seconds(text: str) -> int:
    """Returns the seconds since 1970 of a time in a response."""
    return int(datetime.fromisoformat(text).timestamp())


def _comment(context: CommandContext) -> None:
    options = context.arguments
    place = {
        "path": options.path,
        "line": options.line,
        "row": options.row,
        "side": "before" if options.before else None,
        "commit_id": options.commit,
    }
    body = {"text": options.message, **{key: value for key, value in place.items() if value}}
    item = context.connection.send("POST", *pull_path(context), "comments", body=body)
    pull_id = context.output.paint(options.pull_request, "id")
    context.output.done(f"Commented on pull request {pull_id}", item)


def _comments(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *pull_path(context), "comments", amount=options.amount, after=options.after or None
    )
    context.output.rows(
        _COMMENT_COLUMNS,
        pages,
        lambda item: (
            item["id"],
            item["author"],
            seconds(item["creation_date"]),
            _place_text(item),
            item["text"],
        ),
    )
    context.output.more(pages.next_offset)


def _place_text(item: dict[str, Any]) -> str:
    """Returns what a comment is on: a path, and the line or the key of the row in it."""
    path: str = item.get("path", "")
    place = item.get("place")
    if place is None:
        return path
    where = f":{place['line']}" if "line" in place else f" {json.dumps(place['row'])}"
    return path + where + (" before" if place["side"] == "before" else "")


def _parse_row(text: str) -> dict[str, Any]:
    """Returns the key of a row. Raises ValueError unless the text is an object in JSON."""
    row = json.loads(text)
    if not isinstance(row, dict) or not row:
        raise ValueError('name columns and values, as {"id": 7}')
    return row


def _approve(context: CommandContext) -> None:
    item = _review(context, "approved")
    commit = context.output.paint(item["commit_id"], "id")
    sentence = f"Approved commit {commit}"
    if not item["counts"]:
        sentence += "; as your own pull request, it needs the approval of others"
    context.output.done(sentence, item)


def _request_changes(context: CommandContext) -> None:
    item = _review(context, "changes_requested")
    commit = context.output.paint(item["commit_id"], "id")
    context.output.done(f"Requested changes of commit {commit}", item)


def _review(context: CommandContext, state: str) -> dict[str, Any]:
    options = context.arguments
    body = {"state": state, "text": options.message, "commit_id": options.commit}
    item: dict[str, Any] = context.connection.send(
        "POST", *pull_path(context), "reviews", body=body
    )
    return item


def _reviews(context: CommandContext) -> None:
    options = context.arguments
    pages = context.connection.pages(
        *pull_path(context), "reviews", amount=options.amount, after=options.after or None
    )
    context.output.rows(
        _REVIEW_COLUMNS,
        pages,
        lambda item: (
            item["id"],
            item["author"],
            seconds(item["creation_date"]),
            item["state"],
            "yes" if item["counts"] else "no",
            item["commit_id"],
            item["text"],
        ),
    )
    context.output.more(pages.next_offset)


_PULL = (REPOSITORY, PULL_REQUEST)
_COMMIT = Option(
    "--commit", "The commit that you looked at; fails if the source has moved", "ID", default=""
)

DISCUSSION = (
    Command(
        "comment",
        "Comment on a pull request",
        _comment,
        arguments=_PULL,
        options=(
            Option("-m, --message", "The text", "TEXT", required=True),
            Option("--path", "The object that the comment is about", "PATH", default=""),
            Option("--line", "A line of its text, counted from 1", "N", parse=positive),
            Option("--row", "A row of its table: the key as JSON", "JSON", parse=_parse_row),
            Option("--before", "The line or row is of the version before the change"),
            Option("--commit", "The commit that has it [default: the source's]", "ID", default=""),
        ),
        examples=(
            "pr comment lakefs://flights 5g5dm07enmmt9bsa0rc0 -m 'Why only May?'",
            "pr comment lakefs://flights 5g5dm07enmmt9bsa0rc0 -m 'Why?' --path a.csv --line 3",
            """pr comment lakefs://flights 5g5dm07enmmt9bsa0rc0 -m No --path a --row '{"id": 7}'""",
        ),
    ),
    Command(
        "comments",
        "List the comments on a pull request, oldest first",
        _comments,
        arguments=_PULL,
        options=listing_options("comments")[:2],
        examples=("pr comments lakefs://flights 5g5dm07enmmt9bsa0rc0",),
    ),
    Command(
        "approve",
        "Approve the commit at which the source of a pull request is",
        _approve,
        arguments=_PULL,
        options=(Option("-m, --message", "A text", "TEXT", default=""), _COMMIT),
        details="An approval expires when the source moves. The author's own does not count.",
        examples=("pr approve lakefs://flights 5g5dm07enmmt9bsa0rc0",),
    ),
    Command(
        "request-changes",
        "Ask for changes of a pull request, in place of your approval",
        _request_changes,
        arguments=_PULL,
        options=(Option("-m, --message", "What should change", "TEXT", required=True), _COMMIT),
        examples=("pr request-changes lakefs://flights 5g5dm07enmmt9bsa0rc0 -m 'June is missing'",),
    ),
    Command(
        "reviews",
        "List the reviews of a pull request, and which count",
        _reviews,
        arguments=_PULL,
        options=listing_options("reviews")[:2],
        examples=("pr reviews lakefs://flights 5g5dm07enmmt9bsa0rc0",),
    ),
)
