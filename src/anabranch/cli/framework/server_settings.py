"""The settings of a server, for commands that open its stores themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.cli.framework.context import CommandContext

if TYPE_CHECKING:
    from anabranch.server.config.loader import Loaded

__all__ = ["server_settings"]


def server_settings(
    context: CommandContext, data: str | None, config: str | None, listen: str | None = None
) -> Loaded:
    """Returns the settings of a server, to open its stores. Raises Invalid for invalid settings."""
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.config.loader import load_settings  # noqa: PLC0415

    loaded = load_settings(
        {"data": data, "listen_address": listen},
        os.environ,
        None if config is None else Path(config),
    )
    context.output.warn(loaded.warnings)
    return loaded
