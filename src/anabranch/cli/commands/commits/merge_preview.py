"""The output of `merge --dry-run`: what a merge would do, and its conflicts."""

from __future__ import annotations

from typing import Any

from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable

__all__ = ["conflict_lines", "show_preview"]

_MAX_DETAILS = 10


def show_preview(context: CommandContext, preview: dict[str, Any]) -> None:
    """Prints the response to a dry run. Raises Failure if conflicts stay open."""
    summary, count = preview["summary"], preview["conflict_count"]
    numbers = "Would add {added}, change {changed} and remove {removed} objects"
    lines = [numbers.format(**summary)]
    lines += [
        f"  settled by {printable(each['strategy'])}: {printable(each['path'])}"
        for each in preview["settled"]
    ]
    for conflict in preview["conflicts"]:
        lines += conflict_lines(conflict)
    context.output.done("\n".join(lines), preview)
    if count:
        raise Failure(
            f"{count} paths conflict" if count > 1 else "1 path conflicts",
            kind="merge_conflict",
            hint="Choose for each with --resolve PATTERN=STRATEGY, or for all with --strategy.",
        )


def conflict_lines(conflict: dict[str, Any]) -> list[str]:
    """Returns lines about a conflict: its path, why it is open, and parts of its content."""
    kind = conflict["kind"].replace("_", " ")
    lines = [f"  conflict, {kind}: {printable(conflict['path'])}"]
    if conflict.get("reason"):
        lines.append(f"      {printable(conflict['reason'])}")
    details = conflict.get("details", [])
    lines += [f"      {_detail(detail)}" for detail in details[:_MAX_DETAILS]]
    if len(details) > _MAX_DETAILS:
        lines.append(f"      and {len(details) - _MAX_DETAILS} more")
    return lines


def _detail(detail: dict[str, Any]) -> str:
    where = ", ".join(f"{name} {value}" for name, value in detail["key"].items())
    if detail["column"]:
        where = f"{where}, column {detail['column']}"
    if detail["message"]:
        return printable(f"{where}: {detail['message']}" if where else detail["message"])
    values = ", ".join(f"{side} {detail[side]!r}" for side in ("base", "source", "destination"))
    return printable(f"{where}: {values}")
