"""`diff`: the uncommitted changes of a branch, or the differences between two references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from anabranch.cli.framework.address import ref_address, ref_or_name, same_repository
from anabranch.cli.framework.command import Argument, Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND", "show_changes"]

_COLUMNS = (Column("CHANGE", "change"), Column("PATH"))
_KINDS = ("added", "removed", "changed", "prefix_changed", "conflict")


def _diff(context: CommandContext) -> None:
    left = context.arguments.left
    parts: tuple[str, ...]
    if context.arguments.right is None:
        parts = ("repositories", left.repository, "branches", left.ref, "diff")
        kind = None
    else:
        right = same_repository(left.repository, context.arguments.right)
        parts = ("repositories", left.repository, "refs", left.ref, "diff", right)
        kind = "two_dot" if context.arguments.two_way else "three_dot"
    show_changes(context, *parts, prefix=context.arguments.prefix or None, type=kind)


def show_changes(context: CommandContext, *parts: str, **params: Any) -> None:
    """Prints the changes that a listing of the API returns."""
    pages = context.connection.pages(*parts, **params)
    counts: Counter[str] = Counter()
    changes = _count_text(pages, counts)
    context.output.rows(_COLUMNS, changes, lambda item: (item["type"], item["path"]))
    if context.output.terminal:
        context.output.line(context.output.paint(summary(counts), "dim"))


def summary(counts: Counter[str]) -> str:
    """Returns the number of paths by kind of change, as text without a full stop."""
    parts = [f"{counts[kind]} {kind}" for kind in _KINDS if counts[kind]]
    return ", ".join(parts) or "No changes"


def _count_text(
    changes: Iterable[dict[str, Any]], counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    for change in changes:
        counts[change["type"]] += 1
        yield change


COMMAND = Command(
    "diff",
    "Show what changed",
    _diff,
    arguments=(
        Argument("LEFT", "A branch, tag or commit: lakefs://REPOSITORY/REF", parse=ref_address),
        Argument(
            "RIGHT",
            "A second one, by address or bare name",
            optional=True,
            parse=ref_or_name,
        ),
    ),
    options=(
        Option("--two-way", "Compare the two directly, not from their merge base"),
        Option("--prefix", "Show only paths with this prefix", "PREFIX", default=""),
    ),
    details="""With one branch: its uncommitted changes.

            With two refs: what merging RIGHT into LEFT would do, that is, the changes on RIGHT
            since the merge base of the two; paths that both changed are conflicts. With --two-way:
            how RIGHT differs from LEFT.
            """,
    examples=(
        "diff lakefs://flights/fix-may",
        "diff lakefs://flights/main lakefs://flights/fix-may",
        "diff lakefs://flights/main~1 main --two-way",
    ),
)
