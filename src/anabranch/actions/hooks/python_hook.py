"""Hooks of installed packages, which run in a process of their own.

A package adds them by entry points of the group `anabranch.hooks`, which name a HookFactory. The
properties are `name`, `args` (what the factory is given) and `timeout`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from anabranch.actions.hooks.contract import Hook, HookFactory
from anabranch.actions.hooks.process.isolated import IsolatedHook
from anabranch.actions.hooks.properties import Properties
from anabranch.actions.hooks.secrets import check_names

__all__ = ["ENTRY_POINT_GROUP", "installed_hook", "python_hook"]

ENTRY_POINT_GROUP = "anabranch.hooks"
_TIMEOUT_SECONDS = 60.0


def python_hook(values: Mapping[str, Any]) -> IsolatedHook:
    """Returns the hook with these properties. Raises Invalid (kind invalid_hook)."""
    properties = Properties(values)
    name = properties.text("name")
    names = sorted(entry_points(group=ENTRY_POINT_GROUP).names)
    if name not in names:
        raise properties.invalid(
            "name",
            f"no installed package has a hook {name!r}",
            f"Installed are: {', '.join(names)}." if names else "None is installed.",
        )
    args = properties.mapping("args")
    check_names(properties, "args", args)
    hook = IsolatedHook(
        name=name,
        factory=f"{__name__}:installed_hook",
        properties={"name": name, "args": dict(args)},
        timeout=properties.duration("timeout", _TIMEOUT_SECONDS),
        sees_environment=True,
    )
    properties.refuse_others()
    return hook


def installed_hook(properties: Mapping[str, Any]) -> Hook:
    """Returns what the entry point `name` makes from `args`."""
    (point,) = entry_points(group=ENTRY_POINT_GROUP, name=properties["name"])
    factory: HookFactory = point.load()
    return factory(properties["args"])
