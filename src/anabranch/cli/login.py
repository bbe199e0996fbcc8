"""`login`: ask for a server and credentials, try them, and write them down."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path

from anabranch.cli.call import Call
from anabranch.cli.command import Command, Option
from anabranch.cli.connection import Connection
from anabranch.cli.failure import Failure, Usage
from anabranch.cli.settings import DEFAULT_SERVER, Settings, client_file, server_url

__all__ = ["COMMAND", "write_settings"]


def _login(call: Call) -> None:
    options = call.arguments
    path = client_file(call.environment, options.config)
    if path.suffix in (".yaml", ".yml"):
        raise Usage(f"{path} is a file of lakectl's", hint="Name a file that ends with .toml.")
    asking = sys.stdin.isatty()
    server = options.server or (_ask(f"Server [{DEFAULT_SERVER}]: ") if asking else "")
    url = server_url(server or DEFAULT_SERVER, "--server")
    key = options.access_key_id or (_ask("Access key id: ") if asking else "")
    if not key:
        raise Usage("there is no access key id", hint="Add --access-key-id ID.")
    secret = getpass.getpass("Secret access key: ") if asking else sys.stdin.readline()
    settings = Settings(url, key, secret.strip(), {})
    if not settings.secret_access_key:
        raise Usage("there is no secret access key", hint="Type it, or give it by a pipe.")
    if not options.no_check:
        _check(call, settings)
    write_settings(path, settings)
    call.output.done(f"Wrote {path}", {"file": str(path), "server": url, "access_key_id": key})


def _ask(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _check(call: Call, settings: Settings) -> None:
    connection = Connection(settings, call.environment)
    try:
        user = connection.get("user").get("user") or {}
    finally:
        connection.close()
    if not user.get("id"):
        raise Failure(
            "the server does not know these credentials",
            kind="unauthenticated",
            hint="Check them, or add --no-check to write them down all the same.",
            where=settings.server,
        )


def write_settings(path: Path, settings: Settings) -> None:
    """Writes the file that settings are read from, for its owner's eyes only; whoever reads at
    the same time finds the old file or the new one whole. Raises Usage for values it cannot hold.
    """
    values = {
        "server": settings.server,
        "access_key_id": settings.access_key_id,
        "secret_access_key": settings.secret_access_key,
    }
    text = "".join(f"{name} = {_quoted(name, value)}\n" for name, value in values.items())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    partial.replace(path)


def _quoted(name: str, value: str) -> str:
    """Returns a TOML basic string."""
    if not value.isprintable():
        raise Usage(f"{name} holds characters that cannot be typed", hint="Copy it again.")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


COMMAND = Command(
    "login",
    "Write down a server and its credentials",
    _login,
    options=(
        Option("--access-key-id", "The access key id; asked for on a terminal", "ID", default=""),
        Option("--no-check", "Do not try the credentials first"),
    ),
    details="""Writes ~/.config/anabranch/client.toml, readable by you alone, after the server
has accepted the credentials. The secret is never an option, as others may see a command line:
it is asked for on a terminal, or read from standard input.""",
    examples=(
        "login",
        "login --server https://lake.example.com --access-key-id AKIAIOSFODNN7EXAMPLE < secret",
    ),
)
