"""`usage summary`: how many requests an installation has served, by month."""

from __future__ import annotations

from anabranch.cli.framework.command import Command, Group
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]


def _summary(context: CommandContext) -> None:
    report = context.connection.get("usage-report", "summary")
    if context.output.json:
        context.output.document(report)
        return
    context.output.note(f"installation {report['installation_id']}")
    context.output.rows(
        (Column("Month"), Column("Requests", "number")),
        report["reports"],
        lambda each: (f"{each['year']}-{each['month']:02}", each["count"]),
    )


COMMAND = Group(
    "usage",
    "Show how many requests the server has served",
    (
        Command(
            "summary",
            "Show the requests of each month",
            _summary,
            examples=("usage summary", "usage summary --json"),
        ),
    ),
)
