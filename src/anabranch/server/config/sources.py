"""Sources of settings: flags, the environment, and one file, in TOML or YAML.

Each source returns its settings unparsed, with their location for error messages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from anabranch.errors import Invalid
from anabranch.server.config.field import PREFIX, declared, variable
from anabranch.server.config.types import Pairs

__all__ = ["GivenSetting", "from_environment", "from_file", "from_flags", "is_lakefs_file"]

_OTHERS = frozenset(
    {"SERVER", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "TOKEN", "CONFIG_FILE", "FIXTURES"}
)
"""Variables that are not settings of the server: those of client commands and of tests."""


_MOVED, _MOVED_TO = "auth.providers.oidc.", "auth.oidc."
"""Newer versions of lakeFS have these settings elsewhere, where giving any of them enables them."""


class GivenSetting(NamedTuple):
    """An unparsed setting of a source: its dotted name (or an unknown name), its value and its
    location.
    """

    name: str
    raw: Any
    place: str


def from_flags(flags: Mapping[str, object]) -> list[GivenSetting]:
    """Returns the settings of flags, which are named by dotted names; a flag that is not given is
    None.
    """
    return [
        GivenSetting(name, value, f"the flag for {name}")
        for name, value in flags.items()
        if value is not None
    ]


def from_environment(environment: Mapping[str, str]) -> list[GivenSetting]:
    """Returns the settings in the environment; empty variables are ignored."""
    names = {variable(name): name for name in declared()}
    return [
        GivenSetting(names.get(key, key), value, key)
        for key, value in environment.items()
        if key.startswith(PREFIX) and value and key.removeprefix(PREFIX) not in _OTHERS
    ]


def from_file(path: Path) -> list[GivenSetting]:
    """Returns the settings of a file. Raises Invalid if it cannot be read."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise Invalid(f"{path}: cannot be read: {reason}", kind="bad_settings_file") from None
    if not is_lakefs_file(path):
        return list(_flat(_toml(path, text), "", path))
    given = [_move(setting) for setting in _flat(_yaml(path, text), "", path)]
    places = [setting.place for setting in given if f":{_MOVED}" in setting.place]
    enabled = [GivenSetting(f"{_MOVED_TO}enabled", raw=True, place=place) for place in places[:1]]
    return [*enabled, *given]


def is_lakefs_file(path: Path) -> bool:
    """Returns whether a file has the format of lakeFS's configuration, YAML, by its name."""
    return path.suffix.lower() in (".yaml", ".yml")


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Invalid(f"{path}: is not TOML: {error}", kind="bad_settings_file") from None


def _yaml(path: Path, text: str) -> dict[Any, Any]:
    import yaml  # noqa: PLC0415  only where there is such a file

    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise Invalid(f"{path}: is not YAML: {problem}{line}", kind="bad_settings_file") from None
    if content is not None and not isinstance(content, dict):
        raise Invalid(f"{path}: has no settings by name", kind="bad_settings_file")
    return content or {}


def _flat(content: Mapping[Any, Any], prefix: str, path: Path) -> Iterator[GivenSetting]:
    for key, value in content.items():
        name = prefix + (str(key).lower() if is_lakefs_file(path) else str(key))
        declared_name = _moved_name(name)
        is_table = declared_name in declared() and declared()[declared_name].type == Pairs
        if isinstance(value, dict) and not is_table:
            yield from _flat(value, name + ".", path)
        elif value is not None:
            yield GivenSetting(name, value, f"{path}:{name}")


def _move(setting: GivenSetting) -> GivenSetting:
    return setting._replace(name=_moved_name(setting.name))


def _moved_name(name: str) -> str:
    return _MOVED_TO + name.removeprefix(_MOVED) if name.startswith(_MOVED) else name
