"""Settings from all sources, in order of precedence: flags, the environment, a file, defaults.

If any setting is invalid, all invalid settings are reported, each with its location and the most
similar valid name, and nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from anabranch.errors import Invalid
from anabranch.errors.did_you_mean import closest_setting
from anabranch.server.config.aws import aws_problems
from anabranch.server.config.field import PREFIX, build, declared, variable
from anabranch.server.config.lakefs_compat import is_known_to_lakefs
from anabranch.server.config.oidc import oidc_problems
from anabranch.server.config.parsers import read_value
from anabranch.server.config.scim import scim_problems
from anabranch.server.config.settings import Settings
from anabranch.server.config.sources import (
    GivenSetting,
    from_environment,
    from_file,
    from_flags,
    is_lakefs_file,
)
from anabranch.server.config.telemetry import telemetry_problems

__all__ = ["DEFAULT_FILE", "Loaded", "load_settings"]

DEFAULT_FILE = "anabranch.toml"
"""The file that is read from the working folder, if it exists and no other file is given."""

_INSTALLATION = tuple(name for name in declared() if name.startswith("installation."))


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Settings, the locations of those that were given, and warnings."""

    settings: Settings
    places: dict[str, str]
    warnings: tuple[str, ...] = ()


def load_settings(
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    config: Path | None = None,
    *,
    folder: Path = Path(),
) -> Loaded:
    """Returns the settings; `config` is the file to read instead of `anabranch.toml` in `folder`.

    Flags are named by dotted names. Paths that are not given are in the data folder. Raises Invalid
    (kinds invalid_settings, bad_settings_file).
    """
    problems: list[str] = []
    warnings: list[str] = []
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for given in _all(flags, environment, config or _default_file(folder)):
        if given.name not in declared():
            _unknown(given, config, problems, warnings)
            continue
        try:
            value = read_value(declared()[given.name].type, given.raw)
        except ValueError as error:
            problems.append(f"{given.place} {error}")
            continue
        values[given.name] = value
        places[given.name] = given.place
    problems += _half_an_administrator(values, places)
    problems += oidc_problems(values, places)
    problems += aws_problems(values, places)
    problems += scim_problems(values, places)
    problems += telemetry_problems(values, places)
    if problems:
        raise Invalid(
            "\n".join(problems), kind="invalid_settings", hint="docs/settings.md lists them all."
        )
    settings = _with_paths(build(values), values)
    return Loaded(settings=settings, places=places, warnings=tuple(warnings))


def _all(
    flags: Mapping[str, object], environment: Mapping[str, str], file: Path | None
) -> list[GivenSetting]:
    """Returns all given settings, those with the highest precedence last."""
    in_file = from_file(file) if file else []
    return [*in_file, *from_environment(environment), *from_flags(flags)]


def _default_file(folder: Path) -> Path | None:
    file = folder / DEFAULT_FILE
    return file if file.is_file() else None


def _unknown(
    given: GivenSetting, config: Path | None, problems: list[str], warnings: list[str]
) -> None:
    if given.place.startswith(PREFIX):
        near = closest_setting(given.name, map(variable, declared()), PREFIX)
        of_lakefs = is_known_to_lakefs(given.name.removeprefix(PREFIX).lower(), "_")
    else:
        near = closest_setting(given.name, declared())
        of_lakefs = is_known_to_lakefs(given.name)
    if not of_lakefs:
        problems.append(f"{given.place} is not a setting{near}")
        return
    in_lakefs_file = config is not None and is_lakefs_file(config)
    tolerated = in_lakefs_file and given.place.startswith(f"{config}:")
    (warnings if tolerated else problems).append(
        f"{given.place} is a setting of lakeFS that has no effect here"
    )


def _half_an_administrator(values: Mapping[str, Any], places: Mapping[str, str]) -> list[str]:
    given = [name for name in _INSTALLATION if values.get(name)]
    missing = [name for name in _INSTALLATION if name not in given]
    if not given or not missing:
        return []
    return [f"{places[given[0]]} needs {' and '.join(missing)} as well"]


def _with_paths(settings: Settings, values: Mapping[str, Any]) -> Settings:
    derived = {
        name: settings.data / setting.doc.under_data
        for name, setting in declared().items()
        if setting.type is Path and setting.doc.under_data and name not in values
    }
    return build(derived, settings)
