"""Tools that read the history of a reference: its log, and the last change of each object."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from anabranch.mcp.api import Api
from anabranch.mcp.arguments import After, Amount, AtReference, Prefix
from anabranch.mcp.results import Result, page, shorten
from anabranch.mcp.tool import Tool

__all__ = ["TOOLS"]


class Log(AtReference, frozen=True, kw_only=True):
    """Arguments of log."""

    path: Annotated[str, Meta(max_length=1024, description="Only commits that changed it.")] = ""
    prefix: Prefix = ""
    after: After = ""
    amount: Amount = 20


class Blame(AtReference, frozen=True, kw_only=True):
    """Arguments of blame."""

    prefix: Prefix = ""
    recursive: Annotated[
        bool,
        Meta(description="List all paths below the prefix, and not one level with its folders."),
    ] = False
    after: After = ""
    amount: Amount = 20


def log(api: Api, given: Log) -> Result:
    """Returns a page of commits, the newest first."""
    found = api.get(
        *("repositories", given.repository, "refs", given.reference, "commits"),
        objects=[given.path] if given.path else None,
        prefixes=[given.prefix] if given.prefix else None,
        after=given.after,
        amount=given.amount,
    )
    return Result(page(found, [_commit(each) for each in found["results"]], "id"))


def blame(api: Api, given: Blame) -> Result:
    """Returns a page of objects with the commits that changed them last."""
    found = api.get(
        *("repositories", given.repository, "refs", given.reference, "objects", "blame"),
        prefix=given.prefix,
        delimiter="" if given.recursive else "/",
        after=given.after,
        amount=given.amount,
    )
    items = [
        {
            "path": each["path"],
            "type": "folder" if each["path_type"] == "common_prefix" else "object",
            "commit": _commit(each["commit"]),
        }
        for each in found["results"]
    ]
    return Result(page(found, items, "path"))


def _commit(commit: dict[str, Any]) -> dict[str, Any]:
    result = {name: commit[name] for name in ("id", "committer", "creation_date", "parents")}
    result["message"] = shorten(commit["message"], _MESSAGE)
    if commit.get("metadata"):
        result["metadata"] = shorten(commit["metadata"])
    return result


_MESSAGE = 2000

TOOLS = (
    Tool(
        "log",
        "Show commits",
        "Lists the commits of a branch, tag or commit, the newest first, with messages, committers "
        "and metadata; with `path` or `prefix` only those that changed it. `creation_date` is in "
        "seconds since 1970. With `amount` 1 it shows the commit that a reference names.",
        Log,
        log,
    ),
    Tool(
        "blame",
        "Show last changes",
        "Lists objects and folders at a reference, each with the last commit that changed it.",
        Blame,
        blame,
    ),
)
