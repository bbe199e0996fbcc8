"""The hook `lua`: a script in the action file or in the repository.

The properties are lakeFS's (`script`, `script_path`, `args`) and `timeout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from anabranch.actions.hooks.process.isolated import IsolatedHook
from anabranch.actions.hooks.properties import Properties
from anabranch.actions.hooks.secrets import check_names
from anabranch.errors import NotSupported

__all__ = ["lua_hook"]

_TIMEOUT_SECONDS = 15.0
_MEMORY_BYTES = 2 << 30
_SCRIPT = "anabranch.actions.hooks.lua.script:lua_script"


def lua_hook(values: Mapping[str, Any]) -> IsolatedHook:
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
    hook = IsolatedHook(
        name="lua",
        factory=_SCRIPT,
        properties={"args": dict(args)},
        plain_properties={"script": script, "script_path": path},
        timeout=properties.duration("timeout", _TIMEOUT_SECONDS),
        memory_bytes=_MEMORY_BYTES,
    )
    properties.refuse_others()
    if find_spec("lupa") is None:
        raise NotSupported(
            "Lua hooks need lupa",
            kind="library_missing",
            hint="Install it on the server: pip install 'anabranch[lua]'",
        )
    return hook
