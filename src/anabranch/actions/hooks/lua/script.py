"""A script, as it runs in the process of a hook."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.lua.libraries.registry import Libraries
from anabranch.actions.hooks.lua.sandbox import Sandbox
from anabranch.errors import AnabranchError, HookFailed

__all__ = ["LuaScript", "lua_script"]

_MAX_SCRIPT_BYTES = 4 << 20
_MARGIN_SECONDS = 1.0
_MARGIN_SHARE = 0.2
_EVENT_FIELDS = (
    *("action_name", "hook_id", "run_id", "event_type", "event_time", "commit_id", "branch_id"),
    *("source_ref", "tag_id", "repository_id", "merge_source", "merged_ref"),
)


def lua_script(properties: Mapping[str, Any]) -> LuaScript:
    """Returns the script of the properties `script` or `script_path`, with `args`."""
    return LuaScript(properties["script"], properties["script_path"], properties["args"])


class LuaScript:
    """A script with the globals `action`, `args` and `username`."""

    def __init__(self, script: str, path: str, args: Mapping[str, Any]) -> None:
        self._script = script
        self._path = path
        self._args = args

    def run(self, context: HookContext) -> None:
        """Runs the script. Raises HookFailed with its error."""
        code = self._script.encode() if self._script else self._read(context)
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
        sandbox.run(code, self._path or "script")

    def _read(self, context: HookContext) -> bytes:
        """Returns the script in the repository, where the action file is, too."""
        event = context.event
        reference = event.source_ref or event.commit_id or context.reference
        try:
            with context.lake.read(reference, self._path) as stream:
                code = stream.read(_MAX_SCRIPT_BYTES + 1)
        except AnabranchError as error:
            raise HookFailed(f"could not load script_path {self._path}: {error.message}") from error
        if len(code) > _MAX_SCRIPT_BYTES:
            raise HookFailed(f"the script {self._path} has more than {_MAX_SCRIPT_BYTES} bytes")
        return code


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
