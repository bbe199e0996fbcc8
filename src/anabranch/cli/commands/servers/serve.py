"""`serve`: serves a folder over HTTP."""

from __future__ import annotations

import os
from pathlib import Path

from anabranch.cli.framework.command import Command, Option
from anabranch.cli.framework.context import CommandContext

__all__ = ["COMMAND"]


def _serve(context: CommandContext) -> None:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.config.loader import load_settings  # noqa: PLC0415
    from anabranch.server.serve import serve  # noqa: PLC0415

    given = context.arguments
    flags = {"data": given.data, "listen_address": given.listen, "workers": given.workers}
    config = None if given.config is None else Path(given.config)
    loaded = load_settings(flags, os.environ, config)
    context.output.warn(loaded.warnings)
    serve(loaded.settings, lambda url: _announce(context, url))


def _announce(context: CommandContext, url: str) -> None:
    context.output.line(f"Anabranch is listening on {url}")
    context.output.out.flush()


COMMAND = Command(
    "serve",
    "Serve a folder over HTTP",
    _serve,
    options=(
        Option("--data", "Keep everything in this folder [default: anabranch-data]", "DIR"),
        Option(
            "--listen",
            "The address to listen on [default: 127.0.0.1:8000]; port 0 is any free port",
            "HOST:PORT",
        ),
        Option("--workers", "The number of processes [default: 1]; 0 is one for each core", "N"),
        Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
    ),
    details="Settings come from the flags, the environment and anabranch.toml, in this order.",
    examples=("serve", "serve --data /srv/lake --listen :8000 --workers 0"),
    connects=False,
)
