"""`diff`: the uncommitted changes of a branch, or the differences between two references, of paths
or of the rows of a table.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

from anabranch.cli.commands.differences.change_counts import count_changes, summary
from anabranch.cli.commands.differences.row_diff import show_row_changes
from anabranch.cli.errors import Usage
from anabranch.cli.framework.address import ref_address, ref_or_name, same_repository
from anabranch.cli.framework.command import Argument, Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column
from anabranch.tables.formats import FormatName

__all__ = ["COMMAND", "show_changes"]

_COLUMNS = (Column("CHANGE", "change"), Column("PATH"))


def _diff(context: CommandContext) -> None:
    left = context.arguments.left
    if context.arguments.rows:
        _diff_rows(context)
        return
    if context.arguments.key or context.arguments.format or context.arguments.whole_rows:
        raise Usage("--key, --whole-rows and --format need --rows")
    parts: tuple[str, ...]
    if context.arguments.right is None:
        parts = ("repositories", left.repository, "branches", left.ref, "diff")
        kind = None
    else:
        right = same_repository(left.repository, context.arguments.right)
        parts = ("repositories", left.repository, "refs", left.ref, "diff", right)
        kind = "two_dot" if context.arguments.two_way else "three_dot"
    show_changes(context, *parts, prefix=context.arguments.prefix or None, type=kind)


def _diff_rows(context: CommandContext) -> None:
    options = context.arguments
    left, is_direct = options.left, options.two_way
    if options.prefix:
        raise Usage("--rows and --prefix exclude each other")
    if options.key and options.whole_rows:
        raise Usage("--key and --whole-rows exclude each other")
    if options.right is None:
        right, is_direct = f"{left.ref}$", True
    else:
        right = same_repository(left.repository, options.right)
    show_row_changes(
        context,
        *("repositories", left.repository, "refs", left.ref, "diff", right, "rows"),
        path=options.rows,
        key=options.key or None,
        whole_rows=options.whole_rows or None,
        format=options.format,
        type="two_dot" if is_direct else "three_dot",
    )


def show_changes(context: CommandContext, *parts: str, **params: Any) -> None:
    """Prints the changes that a listing of the API returns."""
    pages = context.connection.pages(*parts, **params)
    counts: Counter[str] = Counter()
    changes = count_changes(pages, "type", counts)
    context.output.rows(_COLUMNS, changes, lambda item: (item["type"], item["path"]))
    if context.output.terminal:
        context.output.line(context.output.paint(summary(counts), "dim"))


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
        Option("--rows", "Show the rows that differ in this table: a file or folder", "PATH"),
        Option(
            "--key", "A column that identifies rows; repeat it for several", "COLUMN", repeat=True
        ),
        Option("--whole-rows", "Compare whole rows, which are added and removed; without --key"),
        Option(
            "--format",
            "The format of the table, if its extension does not tell",
            "FORMAT",
            choices=get_args(FormatName),
        ),
    ),
    details="""With one branch: its uncommitted changes.

            With two refs: what merging RIGHT into LEFT would do, that is, the changes on RIGHT
            since the merge base of the two; paths that both changed are conflicts. With --two-way:
            how RIGHT differs from LEFT.

            With --rows: the rows of one table (a file of any format of previews, or the
            folder of a Delta or Iceberg table), and for changed ones the cells before and after.
            A row is identified by the columns of --key; without it, by up to three columns that
            are found to be unique on both sides, else by all its columns, as with --whole-rows. A
            last line says which on a terminal.
            """,
    examples=(
        "diff lakefs://flights/fix-may",
        "diff lakefs://flights/main lakefs://flights/fix-may",
        "diff lakefs://flights/main~1 main --two-way",
        "diff lakefs://flights/main fix-may --rows may.csv --key id",
        "diff lakefs://flights/main fix-may --rows may.csv --whole-rows",
        "diff lakefs://flights/main fix-may --rows tables/delays/",
    ),
)
