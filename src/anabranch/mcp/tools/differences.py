"""Tools that compare references: their objects, and the rows of a table."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from anabranch.mcp.api import Api
from anabranch.mcp.arguments import After, Amount, InRepository, Path, Prefix, Reference
from anabranch.mcp.results import Result, page, shorten
from anabranch.mcp.tool import Tool

__all__ = ["TOOLS"]

TwoDot = Annotated[
    bool,
    Meta(
        description="Compare both references as they are, and not `right` with what both descend "
        "from, as a merge would."
    ),
]


class Diff(InRepository, frozen=True, kw_only=True):
    """Arguments of diff."""

    left: Reference
    right: Annotated[
        str,
        Meta(
            max_length=256,
            description="What is compared with `left`; if empty, the uncommitted changes of the "
            "branch `left` are shown.",
        ),
    ] = ""
    two_dot: TwoDot = False
    prefix: Prefix = ""
    after: After = ""
    amount: Amount = 50


class DiffRows(InRepository, frozen=True, kw_only=True):
    """Arguments of diff_rows."""

    left: Reference
    right: Reference
    path: Path
    key: Annotated[
        tuple[Annotated[str, Meta(max_length=256)], ...],
        Meta(max_length=16, description="Columns that identify a row; if empty, they are found."),
    ] = ()
    two_dot: TwoDot = False
    after: After = ""
    amount: Amount = 20


def diff(api: Api, given: Diff) -> Result:
    """Returns a page of the objects that differ."""
    where = ("repositories", given.repository)
    asked: dict[str, Any] = {
        "prefix": given.prefix,
        "after": given.after,
        "amount": given.amount,
    }
    if given.right:
        kind = "two_dot" if given.two_dot else "three_dot"
        found = api.get(*where, "refs", given.left, "diff", given.right, type=kind, **asked)
    else:
        found = api.get(*where, "branches", given.left, "diff", **asked)
    items = [
        {"path": each["path"], "change": each["type"], "size_bytes": each.get("size_bytes", 0)}
        for each in found["results"]
    ]
    return Result(page(found, items, "path"))


def diff_rows(api: Api, given: DiffRows) -> Result:
    """Returns a page of the rows that differ."""
    found = api.get(
        *("repositories", given.repository, "refs", given.left, "diff", given.right, "rows"),
        path=given.path,
        key=list(given.key) or None,
        type="two_dot" if given.two_dot else "three_dot",
        after=given.after,
        amount=given.amount,
    )
    items = [shorten(each) for each in found["results"]]
    about = {"key": found["key"], "matched_by": found["matched_by"]}
    return Result({**about, **page(found, items, "")})


TOOLS = (
    Tool(
        "diff",
        "Compare references",
        "Lists the objects that were added, changed or removed on `right` since it left `left`; "
        "without `right`, the uncommitted changes of a branch. A branch's name with `$` includes "
        "what is uncommitted: all that a workspace has changed is `left` `main`, `right` `ID$`.",
        Diff,
        diff,
    ),
    Tool(
        "diff_rows",
        "Compare rows of a table",
        "Shows which rows of a table (a Parquet, CSV or JSON lines file, or the folder of a Delta "
        "Lake or Iceberg table) differ between two references, with both versions of each row. "
        "Needs the server's extra `merge`.",
        DiffRows,
        diff_rows,
    ),
)
