"""`table`: tables of the Iceberg catalog and in folders: list, show, compare, register and
unregister them, expire snapshots.

Each function is imported when its command runs.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from importlib import import_module

from anabranch.cli.framework.command import YES, Argument, Command, Group, Option, positive
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.table_address import (
    catalog_table_address,
    namespace_address,
    table_address,
    table_or_ref,
)
from anabranch.errors import Invalid
from anabranch.model.references.lifetime import parse_lifetime

__all__ = ["COMMAND"]

_TABLE = Argument(
    "TABLE", "The table: lakefs://REPOSITORY/REF/NAMESPACE.TABLE", parse=catalog_table_address
)
_TABLE_OR_FOLDER = Argument(
    "TABLE",
    "The table: lakefs://REPOSITORY/REF/NAMESPACE.TABLE, or a folder: lakefs://REPOSITORY/REF/PATH/",
    parse=table_address,
)


def _later(module: str) -> Callable[[CommandContext], int | None]:
    """Returns a command's function that imports the module with the command's work."""

    def run(context: CommandContext) -> int | None:
        code: int | None = import_module(f"anabranch.cli.commands.tables.{module}").run(context)
        return code

    return run


def _moment(text: str) -> float:
    """Returns the Unix time of a date and time, or of an age such as `7d`; raises ValueError."""
    try:
        return time.time() - parse_lifetime(text)
    except Invalid:
        return dt.datetime.fromisoformat(text).timestamp()


COMMAND = Group(
    "table",
    "List, show and compare tables; register Iceberg tables, expire snapshots",
    (
        Command(
            "list",
            "List the namespaces, tables and views of a branch, tag or commit",
            _later("listing"),
            arguments=(
                Argument(
                    "ADDRESS", "lakefs://REPOSITORY/REF[/NAMESPACE|/PATH/]", parse=namespace_address
                ),
            ),
            options=(
                Option("-l, --long", "Show rows, files, sizes, snapshots and times of tables, too"),
            ),
            details="Namespaces come before what they contain. Folders with tables of Delta Lake, "
            "and of Iceberg that are not registered, follow, unless a namespace is given; of a "
            "path they are listed alone.",
            examples=(
                "table list lakefs://rides/main",
                "table list lakefs://rides/main/city --long",
            ),
        ),
        Command(
            "show",
            "Show a table: schema, partitioning, properties, snapshots, sizes; a view: its SQL",
            _later("description"),
            arguments=(_TABLE_OR_FOLDER,),
            details="Of a folder with an Iceberg table it shows the command that registers it.",
            examples=(
                "table show lakefs://rides/main/city.trips",
                "table show lakefs://rides/v1/city.trips --json",
                "table show lakefs://rides/main/raw/flights/",
            ),
        ),
        Command(
            "register",
            "Make a table of an existing metadata file of the repository",
            _later("register"),
            arguments=(
                _TABLE,
                Argument(
                    "METADATA",
                    "The file, s3://REPOSITORY/REF/PATH.metadata.json, or the table's folder, "
                    "s3://REPOSITORY/REF/PATH/, for its last one",
                ),
            ),
            options=(Option("--create-namespace", "Create the namespace if it does not exist"),),
            details="The metadata are copied, and new files are stored in the table's own area; "
            "the old ones stay where they are.",
            examples=(
                "table register lakefs://rides/main/city.trips s3://rides/main/old/v3.metadata.json",
                "table register lakefs://rides/main/city.trips s3://rides/main/old/trips/",
            ),
        ),
        Command(
            "unregister",
            "Remove a table from a branch, for another catalog to take it; its files stay",
            _later("unregister"),
            arguments=(_TABLE,),
            details="It is one commit of the branch, and shows the table's last metadata file, by "
            "which `table register` brings it back. Other branches, tags and commits keep the "
            "table. Garbage collection frees its files when no commit that it keeps leads to them: "
            "copy them before that.",
            examples=("table unregister lakefs://rides/main/city.trips",),
        ),
        Command(
            "history",
            "Show the commits that changed a table, and the snapshots that they brought",
            _later("history"),
            arguments=(_TABLE_OR_FOLDER,),
            options=(
                Option("--amount", "Show at most N commits", "N", parse=positive, default=20),
            ),
            details="A commit that brought several snapshots has several rows. One that brought "
            "none, such as a change of the schema, shows the snapshot that was current.",
            examples=("table history lakefs://rides/main/city.trips",),
        ),
        Command(
            "diff",
            "Show how tables differ: schema, properties, snapshots, rows",
            _later("diff"),
            arguments=(
                Argument(
                    "LEFT",
                    "lakefs://REPOSITORY/REF[/NAMESPACE[.TABLE]], or a folder with a table: "
                    "lakefs://REPOSITORY/REF/PATH/",
                    parse=namespace_address,
                ),
                Argument(
                    "RIGHT", "A second one, by address or name of the ref", parse=table_or_ref
                ),
            ),
            details="How the tables of RIGHT differ from those of LEFT. Without a table, all those "
            "of the namespace or the references are compared. Columns are the same if they have "
            "the same id, whatever their names; in folders, if they have the same name. "
            "`anabranch diff --rows` compares the rows.",
            examples=(
                "table diff lakefs://rides/main/city.trips night",
                "table diff lakefs://rides/main~1 main",
                "table diff lakefs://rides/main/raw/flights/ night",
            ),
        ),
        Command(
            "expire",
            "Remove old snapshots of a table",
            _later("expire"),
            arguments=(_TABLE,),
            options=(
                Option(
                    "--older-than",
                    "Remove snapshots from before this time, or older than an age such as 7d",
                    "TIME",
                    parse=_moment,
                    required=True,
                ),
                Option(
                    "--retain-last",
                    "Keep at least N snapshots of each of the table's branches; by default what "
                    "its properties say, or 1",
                    "N",
                    parse=positive,
                ),
                Option("--dry-run", "Show what would be removed, without removing it"),
                YES,
            ),
            details="It is one commit of the branch. What the table's own branches and tags name "
            "is kept. Other branches, tags and older commits of the lake keep the snapshots, so no "
            "file is removed here: that is left to garbage collection.",
            examples=(
                "table expire lakefs://rides/main/city.trips --older-than 30d --dry-run",
                "table expire lakefs://rides/main/city.trips --older-than 2026-01-01 --yes",
            ),
        ),
    ),
)
