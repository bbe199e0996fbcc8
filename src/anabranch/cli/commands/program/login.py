"""`login`: asks for a server and credentials, checks them, and saves them."""

from __future__ import annotations

import getpass
import os
import sys
import webbrowser
from datetime import UTC, datetime
from pathlib import Path

from anabranch.cli.client.browser_login import BrowserLogin
from anabranch.cli.client.connection import Connection
from anabranch.cli.client.settings import server_url
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.command import Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.client.settings import DEFAULT_SERVER, Settings, client_file

__all__ = ["COMMAND", "write_settings"]


def _login(context: CommandContext) -> None:
    options = context.arguments
    path = client_file(context.environment, options.config)
    if path.suffix in (".yaml", ".yml"):
        raise Usage(f"{path} is a file of lakectl's", hint="Name a file that ends with .toml.")
    asking = sys.stdin.isatty()
    server = options.server or (_ask(f"Server [{DEFAULT_SERVER}]: ") if asking else "")
    url = server_url(server or DEFAULT_SERVER)
    if options.browser:
        _login_in_browser(context, path, url)
        return
    key = options.access_key_id or (_ask("Access key id: ") if asking else "")
    if not key:
        raise Usage("the access key id is missing", hint="Add --access-key-id ID.")
    secret = getpass.getpass("Secret access key: ") if asking else sys.stdin.readline()
    settings = Settings(url, key, secret.strip(), {})
    if not settings.secret_access_key:
        raise Usage(
            "the secret access key is missing", hint="Type it, or send it to standard input."
        )
    if not options.no_check:
        _check(context, settings)
    write_settings(path, settings)
    context.output.done(f"Wrote {path}", {"file": str(path), "server": url, "access_key_id": key})


def _login_in_browser(context: CommandContext, path: Path, url: str) -> None:
    with BrowserLogin(url) as login:
        sys.stderr.write(f"Open this page, unless it opens by itself: {login.url}\n")
        sys.stderr.write(f"It must show the code {login.shown_code}.\n")
        sys.stderr.flush()
        if not context.arguments.no_open:
            webbrowser.open(login.url)
        code = login.wait()
    connection = Connection(Settings(url, "", "", {}), context.environment)
    try:
        body = {"code": code.code, "verifier": code.verifier}
        issued = connection.send("POST", "auth", "cli", "token", body=body)
    finally:
        connection.close()
    settings = Settings(url, "", "", {}, issued["token"])
    _check(context, settings)
    write_settings(path, settings)
    expires_at = datetime.fromtimestamp(issued["token_expiration"], UTC).isoformat()
    context.output.done(
        f"Wrote {path}; the login lasts until {expires_at}",
        {"file": str(path), "server": url, "expires_at": expires_at},
    )


def _ask(question: str) -> str:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _check(context: CommandContext, settings: Settings) -> None:
    connection = Connection(settings, context.environment)
    try:
        user = connection.get("user").get("user") or {}
    finally:
        connection.close()
    if not user.get("id"):
        raise Failure(
            "the server does not know these credentials",
            kind="unauthenticated",
            hint="Check them, or add --no-check to save them without a check.",
            where=settings.server,
        )


def write_settings(path: Path, settings: Settings) -> None:
    """Writes the settings file, readable by its owner only. A concurrent reader sees the old file
    or the complete new one. Raises Usage for values that the file cannot hold.
    """
    values = {
        "server": settings.server,
        "access_key_id": settings.access_key_id,
        "secret_access_key": settings.secret_access_key,
        "token": settings.token,
    }
    if settings.token:
        del values["access_key_id"], values["secret_access_key"]
    else:
        del values["token"]
    text = "".join(f"{name} = {_quote(name, value)}\n" for name, value in values.items())
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    partial.replace(path)


def _quote(name: str, value: str) -> str:
    """Returns a TOML basic string."""
    if not value.isprintable():
        raise Usage(f"{name} contains control characters", hint="Copy it again.")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


COMMAND = Command(
    "login",
    "Save the address and credentials of a server",
    _login,
    options=(
        Option(
            "--access-key-id", "The access key id; prompted for on a terminal", "ID", default=""
        ),
        Option("--no-check", "Do not check the credentials"),
        Option("--browser", "Log in in a browser, and save a token"),
        Option("--no-open", "With --browser, only print the address of the page to open"),
    ),
    details="""Writes ~/.config/anabranch/client.toml, readable by you alone, after the server has
            accepted the credentials. The secret is never an option, because other users can see
            command lines: it is prompted for on a terminal, or read from standard input.
            With --browser, the server's page asks in a browser on this machine; what is saved is a
            token, which expires when the server's logins do.
            """,
    examples=(
        "login",
        "login --server https://lake.example.com --access-key-id AKIAIOSFODNN7EXAMPLE < secret",
        "login --server https://lake.example.com --browser",
    ),
)
