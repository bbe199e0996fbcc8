"""`auth`: users, groups, policies and access keys, and the recovery of a lost administrator."""

from __future__ import annotations

from anabranch.cli.commands.auth import explain, groups, policies, users
from anabranch.cli.framework.command import Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings

__all__ = ["COMMAND"]


def _recover(context: CommandContext) -> None:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.installation.recovery import recover_administrator  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
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


def _rotate(context: CommandContext) -> int:
    from anabranch.server.installation.recovery import rotate_key  # noqa: PLC0415  as above

    given = context.arguments
    loaded = server_settings(context, given.data, given.config)
    result = rotate_key(loaded.settings)
    context.output.done(
        f"Encrypted {result.rotated:,} secrets with the current key, which had encrypted "
        f"{result.current:,} before",
        {
            "rotated": result.rotated,
            "current": result.current,
            "unreadable": result.unreadable,
        },
    )
    for access_key_id in result.unreadable:
        context.output.note(f"neither key decrypts the secret of {access_key_id}: delete it")
    return 1 if result.unreadable else 0


_SERVER_OPTIONS = (
    Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
    Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
)

COMMAND = Group(
    "auth",
    "Administer users, groups, policies and access keys",
    (
        *users.COMMANDS,
        *groups.COMMANDS,
        *policies.COMMANDS,
        *explain.COMMANDS,
        Command(
            "recover",
            "Replace an administrator's key pair, on the server itself",
            _recover,
            options=(
                *_SERVER_OPTIONS,
                Option(
                    "--user",
                    "Name of the administrator; needed only to create one [default: admin]",
                    "NAME",
                    default="",
                ),
            ),
            details="Run it as the server's user with the server's settings; a server may run "
            "meanwhile. It shows a new key pair, once. Earlier key pairs of that user stop "
            "working, in servers that run within two seconds. The user becomes an administrator "
            "again, and is created again if need be.",
            examples=(
                "auth recover --data /srv/lake",
                "auth recover --config /etc/anabranch.toml --json",
            ),
            connects=False,
        ),
        Command(
            "rotate-key",
            "Encrypt all secrets with a new key of the installation",
            _rotate,
            options=_SERVER_OPTIONS,
            details="Run it with the server's settings: auth.encrypt.secret_key is the new key, "
            "auth.encrypt.other_secret_key the earlier one. Servers with both keys may run "
            "meanwhile. docs/security.md has all steps.",
            examples=("auth rotate-key --data /srv/lake",),
            connects=False,
        ),
    ),
)
