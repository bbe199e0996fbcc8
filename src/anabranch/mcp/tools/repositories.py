"""Tools that list repositories, branches and tags."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from anabranch.mcp.api import Api
from anabranch.mcp.arguments import After, Amount, Arguments, InRepository, Prefix
from anabranch.mcp.results import Result, page
from anabranch.mcp.tool import Tool

__all__ = ["TOOLS"]


class ListRepositories(Arguments, frozen=True, kw_only=True):
    """Arguments of list_repositories."""

    prefix: Prefix = ""
    after: After = ""
    amount: Amount = 50


class ListReferences(InRepository, frozen=True, kw_only=True):
    """Arguments of list_references."""

    kind: Annotated[Literal["branches", "tags"], Meta(description="Which of the two.")] = "branches"
    prefix: Prefix = ""
    after: After = ""
    amount: Amount = 50


def list_repositories(api: Api, given: ListRepositories) -> Result:
    """Returns a page of the repositories that the caller may see."""
    found = api.get("repositories", prefix=given.prefix, after=given.after, amount=given.amount)
    items = [
        {
            "id": each["id"],
            "default_branch": each["default_branch"],
            "creation_date": each["creation_date"],
            "read_only": bool(each.get("read_only")),
        }
        for each in found["results"]
    ]
    return Result(page(found, items, "id"))


def list_references(api: Api, given: ListReferences) -> Result:
    """Returns a page of branches or tags with the commits that they name."""
    found = api.get(
        *("repositories", given.repository, given.kind),
        prefix=given.prefix,
        after=given.after,
        amount=given.amount,
    )
    items = [{"id": each["id"], "commit_id": each["commit_id"]} for each in found["results"]]
    return Result(page(found, items, "id"))


TOOLS = (
    Tool(
        "list_repositories",
        "List repositories",
        "Lists the repositories of the lake that you may see, with their default branches. Begin "
        "here if you do not know the name of a repository.",
        ListRepositories,
        list_repositories,
    ),
    Tool(
        "list_references",
        "List branches or tags",
        "Lists the branches (or, with kind `tags`, the tags) of a repository and the id of the "
        "commit that each names. For commits, use `log`.",
        ListReferences,
        list_references,
    ),
)
