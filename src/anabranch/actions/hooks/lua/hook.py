"""The hook `lua`: a script in the action file or in the repository.

The properties are lakeFS's (`script`, `script_path`, `args`) and `timeout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import msgspec

from anabranch.actions.hooks.contract import HookContext
from anabranch.actions.hooks.process.isolated import IsolatedHook
from anabranch.actions.hooks.properties import Properties
from anabranch.actions.hooks.secrets import check_names
from anabranch.errors import HookFailed, NotSupported

__all__ = ["LuaHook", "lua_hook"]

_TIMEOUT_SECONDS = 15.0
_MEMORY_BYTES = 2 << 30
_SCRIPT = "anabranch.actions.hooks.lua.script:lua_script"


class LuaHook(msgspec.Struct, frozen=True, kw_only=True):
    """A script: `script` itself, or the one at `script_path`, with `args`; `timeout` in seconds."""

    script: str = ""
    script_path: str = ""
    args: dict[str, Any] = {}
    timeout: float = _TIMEOUT_SECONDS

    def run(self, context: HookContext) -> None:
        """Runs the script. Raises HookFailed with its error."""
        script = self.script or self._load(context)
        IsolatedHook(
            name="lua",
            factory=_SCRIPT,
            properties={"args": self.args},
            plain_properties={"script": script, "name": self.script_path or "script"},
            timeout=self.timeout,
            memory_bytes=_MEMORY_BYTES,
        ).run(context)

    def _load(self, context: HookContext) -> str:
        # before the process starts: whose script it is decides what the process gets
        if context.code is None:
            raise HookFailed(f"could not load script_path {self.script_path}: not found")
        code = context.code.load(self.script_path)
        try:
            return code.decode()
        except UnicodeDecodeError:
            raise HookFailed(f"the script {self.script_path} is not UTF-8") from None


def lua_hook(values: Mapping[str, Any]) -> LuaHook:
    """Returns the hook with these properties. Raises Invalid (kind invalid_hook), and NotSupported
    without lupa.
    """
    properties = Properties(values)
    script = properties.text("script", "")
    path = properties.text("script_path", "")
    if bool(script) == bool(path):
        raise properties.invalid("script", "give either script or script_path")
    args = properties.mapping("args")
    check_names(properties, "args", args)
    hook = LuaHook(
        script=script,
        script_path=path,
        args=dict(args),
        timeout=properties.duration("timeout", _TIMEOUT_SECONDS),
    )
    properties.refuse_others()
    if find_spec("lupa") is None:
        raise NotSupported(
            "Lua hooks need lupa",
            kind="library_missing",
            hint="Install it on the server: pip install 'anabranch[lua]'",
        )
    return hook
