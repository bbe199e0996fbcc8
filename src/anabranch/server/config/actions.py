"""Settings of actions and their hooks."""

from __future__ import annotations

from typing import Annotated

from anabranch.server.config.types import Seconds, SettingDoc, SettingsGroup

__all__ = ["Actions"]


class HookVariables(SettingsGroup, frozen=True, kw_only=True):
    """Variables of the environment in properties of hooks."""

    enabled: Annotated[
        bool,
        SettingDoc(
            "Whether hooks may use variables of the server's environment whose names begin with "
            "`LAKEFSACTION_`, in action files on the branches that `actions.env.branches` names"
        ),
    ] = True
    branches: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Branches whose action files may use these variables, as patterns of "
            "`REPOSITORY/BRANCH`, such as `flights/main,etl-*/release-*`: users who may write to "
            "such a branch can read the variables"
        ),
    ] = ()


class Webhooks(SettingsGroup, frozen=True, kw_only=True):
    """Requests of hooks."""

    allow: Annotated[
        tuple[str, ...],
        SettingDoc(
            "Networks that hooks and notifications may be sent to beside the public internet, as "
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

    enabled: Annotated[bool, SettingDoc("Whether hooks run")] = True
    trust_authors: Annotated[
        bool,
        SettingDoc(
            "Whether hooks act as lakeFS's do: with all permissions of the user who causes the "
            "event, in all repositories, and with variables of the environment on all branches. "
            "Otherwise they have what the last committers of the action file and the script may "
            "do as well, in the event's repository"
        ),
    ] = False
    concurrency: Annotated[
        int,
        SettingDoc(
            "Maximum number of changes that wait for hooks at once, and of events whose hooks run "
            "after their change, in each process"
        ),
    ] = 32
    parallel: Annotated[
        int, SettingDoc("Maximum number of actions of one event that run at once")
    ] = 8
    timeout: Annotated[
        Seconds, SettingDoc("Time for all hooks of an event, at most 50 minutes")
    ] = Seconds(900)
    output_bytes: Annotated[int, SettingDoc("Maximum size of the output of a hook, in bytes")] = (
        1 << 20
    )
    env: HookVariables = HookVariables()
    webhook: Webhooks = Webhooks()
    lua: LuaHooks = LuaHooks()
