"""A script, as it runs in the process of a hook."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.lua.libraries.registry import Libraries
from anabranch.actions.hooks.lua.sandbox import Sandbox

__all__ = ["LuaScript", "lua_script"]

_MARGIN_SECONDS = 1.0
_MARGIN_SHARE = 0.2
_EVENT_FIELDS = (
    *("action_name", "hook_id", "run_id", "event_type", "event_time", "commit_id", "branch_id"),
    *("source_ref", "tag_id", "repository_id", "merge_source", "event_id", "merged_ref"),
)


def lua_script(properties: Mapping[str, Any]) -> LuaScript:
    """Returns the script of the property `script`, with `args`; `name` is what messages call it."""
    return LuaScript(properties["script"].encode(), properties["name"], properties["args"])


class LuaScript:
    """A script with the globals `action`, `args` and `username`."""

    def __init__(self, code: bytes, name: str, args: Mapping[str, Any]) -> None:
        self._code = code
        self._name = name
        self._args = args

    def run(self, context: HookContext) -> None:
        """Runs the script. Raises HookFailed with its error."""
        start = time.monotonic()
        allowed = context.deadline - start
        # the process is killed at the deadline: the script's own error names the line
        end = context.deadline - min(_MARGIN_SECONDS, _MARGIN_SHARE * allowed)

        def expired() -> str | None:
            if time.monotonic() < end:
                return None
            return f"the script did not finish within {allowed:.3g} s"

        sandbox = Sandbox(context.output.write, Libraries(context).open, expired)
        sandbox.define("action", _action(context))
        sandbox.define("args", self._args)
        sandbox.define("username", context.username)
        sandbox.run(self._code, self._name)


def _action(context: HookContext) -> dict[str, Any]:
    """Returns the global `action`, which has all its fields for every event, as in lakeFS."""
    event, commit = context.event, context.commit
    about: dict[str, Any] = {
        "message": event.commit_message,
        "metadata": event.commit_metadata,
        "committer": event.committer,
        "meta_range_id": "",
        "version": 0,
        "parents": [],
        "creation_date": event.event_time,
    }
    if commit is not None:
        about |= {
            "message": commit.message,
            "metadata": commit.metadata,
            "committer": commit.committer,
            "meta_range_id": commit.metarange_id,
            "version": commit.version,
            "parents": list(commit.parents),
            "creation_date": datetime.fromtimestamp(commit.creation_date, UTC).isoformat(),
        }
    return {
        **{name: getattr(event, name) for name in _EVENT_FIELDS},
        "pre_run_id": context.pre_run_id,
        "storage_namespace": context.storage_namespace,
        "commit": about,
    }
