"""`migrate`: creates or updates the tables of a database that servers share, and reads lakeFS's."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from anabranch.cli.commands.migrate.from_lakefs import FROM_LAKEFS
from anabranch.cli.framework.command import Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings

if TYPE_CHECKING:
    from anabranch.server.config.settings import Settings

__all__ = ["COMMAND"]


def _migrate(context: CommandContext) -> None:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.stores.keyvalue_stores import migrate_keyvalue  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    kind = loaded.settings.database.type
    done = migrate_keyvalue(loaded.settings.database)
    changed = _adopt(loaded.settings) if given.adopt else []
    if context.output.json:
        context.output.document(
            {"type": kind, "before": done.before, "now": done.now, "changed": changed}
        )
    elif done.now is None:
        context.output.line(f"There is nothing to migrate: the database is of type {kind}")
    elif done.before is None:
        context.output.line(f"Created the database's tables, schema version {done.now}")
    else:
        context.output.line(f"The database is up to date, schema version {done.now}")
    for change in changed:
        context.output.note(f"changed: {change}")


def _adopt(settings: Settings) -> list[str]:
    from anabranch.server.installation.files import require_files  # noqa: PLC0415  slow
    from anabranch.server.installation.keys import with_keys  # noqa: PLC0415
    from anabranch.server.installation.shared_settings import adopt_settings  # noqa: PLC0415
    from anabranch.server.stores.keyvalue_stores import open_keyvalue  # noqa: PLC0415

    require_files(settings)
    keyvalue = open_keyvalue(settings.database)
    try:
        settings = with_keys(settings, secrets.token_bytes)
        return adopt_settings(settings, keyvalue, secrets.token_bytes)
    finally:
        keyvalue.close()


COMMAND = Group(
    "migrate",
    "Prepare a shared database; take over the database of lakeFS",
    (
        Command(
            "tables",
            "Create or update the tables of a shared database",
            _migrate,
            options=(
                Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
                Option("--adopt", "Replace the settings that the servers share by these"),
                Option(
                    "-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"
                ),
            ),
            details="Run it once with the settings of the servers, before the first start and "
            "after an upgrade whose notes say so. It does not change tables that are up to date.",
            examples=(
                "migrate",
                "migrate --config /etc/anabranch.toml",
                "migrate --config /etc/anabranch.toml --adopt",
            ),
            connects=False,
        ),
        FROM_LAKEFS,
    ),
    details="`anabranch migrate` without a command runs `migrate tables`.",
    default="tables",
    runs_alone=True,
)
