"""`annotate`: the last commit that changed each object."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.address import prefix_address
from anabranch.cli.framework.command import Argument, Command, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

_COLUMNS = (
    Column("COMMIT", "id"),
    Column("COMMITTER"),
    Column("DATE", "time"),
    Column("PATH"),
    Column("MESSAGE"),
)


def _annotate(context: CommandContext) -> None:
    place = context.arguments.place
    pages = context.connection.pages(
        *("repositories", place.repository, "refs", place.ref, "objects", "blame"),
        amount=context.arguments.amount,
        after=context.arguments.after or None,
        prefix=place.key or None,
        delimiter=None if context.arguments.recursive else "/",
    )
    context.output.rows(_COLUMNS, pages, _cells)
    context.output.more(pages.next_offset)


def _cells(item: dict[str, Any]) -> tuple[Any, ...]:
    commit = item["commit"]
    subject = next(iter(commit["message"].splitlines()), "")
    return commit["id"], commit["committer"], commit["creation_date"], item["path"], subject


COMMAND = Command(
    "annotate",
    "Show the last commit that changed each object",
    _annotate,
    arguments=(
        Argument(
            "PLACE",
            "The objects: lakefs://REPOSITORY/REF/PREFIX",
            parse=prefix_address,
        ),
    ),
    options=(
        Option("-r, --recursive", "Show all objects below the path, not only one level"),
        Option("--amount", "Show at most N entries; all of them by default", "N", parse=positive),
        Option("--after", "Show only entries after this path, in order", "PATH", default=""),
    ),
    details="Uncommitted changes are not included. A folder has the last commit that changed "
    "anything below it.",
    examples=(
        "annotate lakefs://flights/main/",
        "annotate lakefs://flights/main/month=05/ --recursive",
    ),
)
