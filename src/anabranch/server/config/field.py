"""One setting: its dotted name, what it may be, and reading and building the structs by names.

`declared` walks the structs once; everything else about settings goes by its dotted names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from anabranch.server.config.settings import Means, Settings

__all__ = ["PREFIX", "Setting", "build", "declared", "value_of", "variable"]

PREFIX = "ANABRANCH_"
"""What the names of all environment variables begin with."""


class Setting(NamedTuple):
    """A setting as declared; `type` is without its annotation."""

    name: str
    type: Any
    default: Any
    means: Means


@cache
def declared() -> Mapping[str, Setting]:
    """Returns every setting by its dotted name, in the order of declaration."""
    return {setting.name: setting for setting in _walk(Settings, "")}


def variable(name: str) -> str:
    """Returns the name of a setting's environment variable."""
    return PREFIX + name.replace(".", "_").upper()


def value_of(settings: Settings, name: str) -> Any:
    """Returns the value of the setting of that name."""
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def build(values: Mapping[str, Any], base: Settings | None = None) -> Settings:
    """Returns `base`, or the defaults, with these values by dotted names."""
    built: Settings = _replaced(base or Settings(), values, "")
    return built


def _walk(struct: type[msgspec.Struct], prefix: str) -> Iterator[Setting]:
    hints = get_type_hints(struct, include_extras=True)
    for field in msgspec.structs.fields(struct):
        hint, name = hints[field.name], prefix + field.name
        if get_origin(hint) is Annotated:
            kind, means = get_args(hint)
            yield Setting(name, kind, field.default, means)
        else:
            yield from _walk(hint, name + ".")


def _replaced(struct: Any, values: Mapping[str, Any], prefix: str) -> Any:
    changes = {}
    for field in struct.__struct_fields__:
        name, value = prefix + field, getattr(struct, field)
        if name in values:
            changes[field] = values[name]
        elif isinstance(value, msgspec.Struct):
            changes[field] = _replaced(value, values, name + ".")
    return msgspec.structs.replace(struct, **changes)
