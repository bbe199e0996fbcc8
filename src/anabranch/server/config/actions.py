"""Settings of actions and their hooks."""

from __future__ import annotations

from typing import Annotated

from anabranch.server.config.types import SettingDoc, SettingsGroup

__all__ = ["Actions"]


class HookVariables(SettingsGroup, frozen=True, kw_only=True):
    """Variables of the environment in properties of hooks."""

    enabled: Annotated[
        bool,
        SettingDoc(
            "Whether hooks may use variables of the server's environment whose names begin with "
            "`LAKEFSACTION_`"
        ),
    ] = True


class Webhooks(SettingsGroup, frozen=True, kw_only=True):
    """Requests of hooks."""

    allow: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Networks that hooks may send requests to beside the public internet, such as "
            "`10.1.0.0/16,127.0.0.1`"
        ),
    ] = ()


class LuaHooks(SettingsGroup, frozen=True, kw_only=True):
    """Lua hooks."""

    net_http_enabled: Annotated[
        bool, SettingDoc("Whether Lua hooks may send requests, by `net/http`")
    ] = False


class Actions(SettingsGroup, frozen=True, kw_only=True):
    """Actions: hooks on the events of repositories."""

    env: HookVariables = HookVariables()
    webhook: Webhooks = Webhooks()
    lua: LuaHooks = LuaHooks()
