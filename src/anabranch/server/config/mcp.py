"""Settings of the Model Context Protocol."""

from __future__ import annotations

from typing import Annotated

from anabranch.server.config.types import Seconds, SettingDoc, SettingsGroup

__all__ = ["ModelContextProtocol"]


class ModelContextProtocol(SettingsGroup, frozen=True, kw_only=True):
    """Tools for programs that use language models, at `/mcp`."""

    enabled: Annotated[
        bool,
        SettingDoc(
            "Whether clients of the Model Context Protocol are served at `/mcp`, with the "
            "permissions of their users; needs the extra `mcp`"
        ),
    ] = True
    write: Annotated[
        bool,
        SettingDoc(
            "Whether there are tools at `/mcp` that change workspaces, which their users create; "
            "other branches are never changed"
        ),
    ] = False
    timeout: Annotated[Seconds, SettingDoc("Time limit of a call of a tool")] = Seconds(60)
