"""`auth recover`: creates a new key pair for an administrator who has lost theirs."""

from __future__ import annotations

import os
from pathlib import Path

from anabranch.cli.framework.command import Command, Group, Option
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]


def _recover(context: CommandContext) -> None:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.config.loader import load_settings  # noqa: PLC0415
    from anabranch.server.installation.recovery import recover_administrator  # noqa: PLC0415

    given = context.arguments
    config = None if given.config is None else Path(given.config)
    loaded = load_settings({"data": given.data}, os.environ, config)
    for warning in loaded.warnings:
        context.output.note(warning)
    recovered = recover_administrator(loaded.settings, given.user)
    credential = recovered.credential
    secret = credential.secret.reveal()
    context.output.details(
        [
            ("user", credential.username, ""),
            ("access key id", credential.access_key_id, ""),
            ("secret access key", secret, ""),
        ],
        {
            "user": credential.username,
            "access_key_id": credential.access_key_id,
            "secret_access_key": secret,
            "user_created": recovered.user_created,
            "replaced": recovered.replaced,
        },
    )
    if recovered.user_created:
        context.output.note("The administrator did not exist: the user was created.")
    context.output.note("The secret is not shown again. Earlier key pairs no longer work.")


COMMAND = Group(
    "auth",
    "Create a new key pair for an administrator who is locked out",
    (
        Command(
            "recover",
            "Replace the administrator's key pair, on the server's machine",
            _recover,
            options=(
                Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
                Option(
                    "--user",
                    "Name of the administrator; needed only to create one [default: admin]",
                    "NAME",
                    default="",
                ),
                Option(
                    "-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"
                ),
            ),
            details="Run it as the server's user with the server's settings; a server may run "
            "meanwhile. It shows a new key pair, once. Earlier key pairs stop working: in servers "
            "that run, after `auth.cache.ttl`. An administrator who was deleted is created again. "
            "Nothing else changes.",
            examples=(
                "auth recover --data /srv/lake",
                "auth recover --config /etc/anabranch.toml --json",
            ),
            connects=False,
        ),
    ),
)
