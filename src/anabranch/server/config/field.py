"""Access to settings by their dotted names.

`declared` lists the settings that the structs declare; all other code uses dotted names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from anabranch.server.config.settings import SettingDoc, Settings

__all__ = ["PREFIX", "Setting", "build", "declared", "value_of", "variable"]

PREFIX = "ANABRANCH_"
"""The prefix of the names of all environment variables."""


class Setting(NamedTuple):
    """A declared setting; `type` has no annotation."""

    name: str
    type: Any
    default: Any
    doc: SettingDoc


@cache
def declared() -> Mapping[str, Setting]:
    """Returns all settings by their dotted names, in the order of declaration."""
    return {setting.name: setting for setting in _walk(Settings, "")}


def variable(name: str) -> str:
    """Returns the name of a setting's environment variable."""
    return PREFIX + name.replace(".", "_").upper()


def value_of(settings: Settings, name: str) -> Any:
    """Returns the value of a setting."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def build(values: Mapping[str, Any], base: Settings | None = None) -> Settings:
    """Returns `base`, by default the default settings, with some values replaced, which are given
    by dotted names.
    """
    built: Settings = _replace(base or Settings(), values, "")
    return built


def _walk(struct: type[msgspec.Struct], prefix: str) -> Iterator[Setting]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        hint, name = hints[field.name], prefix + field.name
        if get_origin(hint) is Annotated:
            kind, doc = get_args(hint)
            yield Setting(name, kind, field.default, doc)
        else:
            yield from _walk(hint, name + ".")


def _replace(struct: Any, values: Mapping[str, Any], prefix: str) -> Any:
    changes = {}
    for field in struct.__struct_fields__:
        name, value = prefix + field, getattr(struct, field)
        if name in values:
            changes[field] = values[name]
        elif isinstance(value, msgspec.Struct):
            changes[field] = _replace(value, values, name + ".")
    return msgspec.structs.replace(struct, **changes)
