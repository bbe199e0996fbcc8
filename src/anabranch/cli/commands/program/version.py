"""`version`: the versions of this program and of the server."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Any

from anabranch.cli.errors import Failure
from anabranch.cli.framework.command import Command
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]


def _version(context: CommandContext) -> None:
    client = _client_version()
    server = _server(context)
    pairs = [
        ("Client", client, ""),
        ("Server", server.get("version") or server["error"], ""),
        ("API of lakeFS", server.get("api", ""), ""),
        ("Address", context.settings.server, ""),
    ]
    context.output.details(pairs, {"client": client, "server": server})


def _client_version() -> str:
    try:
        return version("anabranch")
    except PackageNotFoundError:
        return "unknown: not installed"


def _server(context: CommandContext) -> dict[str, Any]:
    try:
        config = context.connection.get("config")["version_config"]
    except Failure as failure:
        return {"error": failure.message, "address": context.settings.server}
    api = config.get("version", "unknown")
    # lakeFS does not report a version of Anabranch
    own = config.get("anabranch_version", api)
    return {"version": own, "api": api, "address": context.settings.server}


COMMAND = Command(
    "version",
    "Show the versions of client and server",
    _version,
    examples=("version", "version --json"),
)
