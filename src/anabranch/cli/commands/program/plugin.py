"""`plugin list`: the programs on PATH that add commands."""

from __future__ import annotations

from anabranch.cli.framework.command import Command, Group
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.plugins import find_plugins
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]


def _list(context: CommandContext) -> None:
    plugins = [
        {"name": name, "program": str(program)}
        for name, program in find_plugins(context.environment).items()
    ]
    columns = (Column("Name", "name"), Column("Program"))
    context.output.rows(columns, plugins, lambda each: (each["name"], each["program"]))


COMMAND = Group(
    "plugin",
    "List the programs that add commands",
    (
        Command(
            "list",
            "List the programs on PATH that add commands",
            _list,
            details="A program `anabranch-NAME`, or `lakectl-NAME` as for lakectl, is run by "
            "`anabranch NAME`, with the arguments behind it, unless there is such a command.",
            examples=("plugin list",),
            connects=False,
        ),
    ),
)
