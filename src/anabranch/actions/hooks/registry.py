"""The types of hooks by name.

They are loaded when they are first used, since some need libraries that the core installation does
not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from anabranch.actions.hooks.contract import Hook, HookFactory
from anabranch.errors import Invalid

__all__ = ["HOOK_TYPES", "make_hook"]

_PACKAGE = "anabranch.actions.hooks"
_FACTORIES = {
    "webhook": (f"{_PACKAGE}.webhook", "webhook"),
    "airflow": (f"{_PACKAGE}.airflow", "airflow"),
    "check": (f"{_PACKAGE}.checks.check", "check"),
    "python": (f"{_PACKAGE}.python_hook", "python_hook"),
    "lua": (f"{_PACKAGE}.lua.hook", "lua_hook"),
}

HOOK_TYPES = tuple(_FACTORIES)


def make_hook(type: str, properties: Mapping[str, Any]) -> Hook:
    """Returns the hook of that type.

    Raises Invalid (kind unknown_hook_type) for an unknown type, Invalid (kind invalid_hook) with
    the property that is wrong, and NotSupported if a library is not installed.
    """
    if type not in _FACTORIES:
        raise Invalid(
            f"unknown hook type {type!r}",
            kind="unknown_hook_type",
            hint=f"Use one of {', '.join(HOOK_TYPES)}.",
        )
    module, name = _FACTORIES[type]
    factory: HookFactory = getattr(import_module(module), name)
    return factory(properties)
