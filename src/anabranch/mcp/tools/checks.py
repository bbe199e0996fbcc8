"""Tools that show what has happened in a repository: results of checks, operations, and pull
requests.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from anabranch.mcp.api import Api
from anabranch.mcp.arguments import After, Amount, InRepository
from anabranch.mcp.limits import MAX_CONTENT_BYTES
from anabranch.mcp.results import Result, listing, page, shorten
from anabranch.mcp.tool import Tool

__all__ = ["TOOLS"]

_NAMED, _TEXT = 256, 4000


class CheckResults(InRepository, frozen=True, kw_only=True):
    """Arguments of check_results."""

    run_id: Annotated[
        str,
        Meta(max_length=_NAMED, description="Show this run: its hooks and what failed ones say."),
    ] = ""
    branch: Annotated[str, Meta(max_length=_NAMED, description="Only runs of this branch.")] = ""
    commit: Annotated[str, Meta(max_length=_NAMED, description="Only runs of this commit.")] = ""
    after: After = ""
    amount: Amount = 20


class ListOperations(InRepository, frozen=True, kw_only=True):
    """Arguments of list_operations."""

    after: After = ""
    amount: Amount = 20


class PullRequests(InRepository, frozen=True, kw_only=True):
    """Arguments of pull_requests."""

    id: Annotated[
        str,
        Meta(
            max_length=_NAMED,
            description="Show this one, with reviews, comments and what was read for it.",
        ),
    ] = ""
    status: Annotated[Literal["open", "closed", "all"], Meta(description="Which ones to list.")] = (
        "open"
    )
    after: After = ""
    amount: Amount = 20


def check_results(api: Api, given: CheckResults) -> Result:
    """Returns a page of runs, or one run with its hooks."""
    runs = ("repositories", given.repository, "actions", "runs")
    if given.run_id:
        return Result(_run(api, runs, given))
    found = api.get(
        *runs,
        branch=given.branch,
        commit=given.commit,
        after=given.after,
        amount=given.amount,
    )
    return Result(page(found, found["results"], "run_id"))


def _run(api: Api, runs: tuple[str, ...], given: CheckResults) -> dict[str, Any]:
    run = api.get(*runs, given.run_id)
    found = api.get(*runs, given.run_id, "hooks", amount=100)
    hooks = []
    for hook in found["results"]:
        shown = {name: hook[name] for name in ("hook_run_id", "action", "hook_id", "status")}
        if hook["status"] == "failed":
            place = (*runs, given.run_id, "hooks", hook["hook_run_id"], "output")
            output = api.read(*place, start=0, length=MAX_CONTENT_BYTES).body
            shown["output"] = shorten(output.decode("utf-8", "replace"), _TEXT)
        hooks.append(shown)
    return {**run, "hooks": page(found, hooks, "")}


def list_operations(api: Api, given: ListOperations) -> Result:
    """Returns a page of the operation log."""
    found = api.get(
        *("repositories", given.repository, "operations"), after=given.after, amount=given.amount
    )
    return Result(page(found, shorten(found["results"]), "id"))


def pull_requests(api: Api, given: PullRequests) -> Result:
    """Returns a page of pull requests, or one with its discussion."""
    pulls = ("repositories", given.repository, "pulls")
    if not given.id:
        found = api.get(*pulls, status=given.status, after=given.after, amount=given.amount)
        return Result(page(found, [shorten(each, _TEXT) for each in found["results"]], "id"))
    pull = shorten(api.get(*pulls, given.id), _TEXT)
    reviews = api.get(*pulls, given.id, "reviews", amount=50)
    comments = api.get(*pulls, given.id, "comments", amount=50)
    read = api.get(*pulls, given.id, "reads")
    return Result(
        {
            **pull,
            "reads": shorten(listing(read["reads"])),
            "reviews": page(reviews, shorten(reviews["results"], _TEXT), ""),
            "comments": page(comments, shorten(comments["results"], _TEXT), ""),
        }
    )


TOOLS = (
    Tool(
        "check_results",
        "Show results of checks",
        "Lists runs of a repository's checks (hooks of actions), the newest first, of a branch or "
        "commit if named. With `run_id` it shows that run: each hook, and the output of those that "
        "failed.",
        CheckResults,
        check_results,
    ),
    Tool(
        "list_operations",
        "Show the operation log",
        "Lists the operations that have changed branches, tags and settings, the newest first: "
        "who, when, and what was before and after.",
        ListOperations,
        list_operations,
    ),
    Tool(
        "pull_requests",
        "Show pull requests",
        "Lists pull requests, or with `id` shows one with its reviews and comments. To see what "
        "one changes, use `diff` with its destination as `left` and its source as `right`.",
        PullRequests,
        pull_requests,
    ),
)
