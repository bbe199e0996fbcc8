"""The settings of the connection: the server's address and the credentials.

Credentials are a key pair or a token. Sources, in order of precedence: the flags; `ANABRANCH_*` in
the environment; the file that `anabranch login` writes (`~/.config/anabranch/client.toml`); and the
settings of lakectl: `LAKECTL_*`, then `~/.lakectl.yaml`. Credentials always come from one source,
because halves of two pairs never match; where one has a pair and a token, the pair counts. Files
are opened only if the sources before them leave something out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from anabranch.cli.errors import Usage
from anabranch.errors.did_you_mean import closest

__all__ = ["DEFAULT_SERVER", "Settings", "client_file", "resolve", "server_url"]

DEFAULT_SERVER = "http://127.0.0.1:8000"
PAIR = ("access_key_id", "secret_access_key")
NAMES = ("server", *PAIR, "token")

_Found = Mapping[str, tuple[str, str]]
"""The settings of one source: the name of each, its value and its exact location."""

_LAKECTL = {
    "server": ("server", "endpoint_url"),
    "access_key_id": ("credentials", "access_key_id"),
    "secret_access_key": ("credentials", "secret_access_key"),
}


class Settings(NamedTuple):
    """The settings of a connection; `sources` has the location of each."""

    server: str
    access_key_id: str
    secret_access_key: str
    sources: Mapping[str, str]
    token: str = ""


def resolve(
    environment: Mapping[str, str], *, server: str | None = None, config: str | None = None
) -> Settings:
    """Returns the settings in force, from the flags and the environment. Raises Usage for a file
    that is invalid or that other users can read, and for a key without a secret or the reverse.
    """
    sources: list[Callable[[], _Found]] = [
        lambda: {"server": (server, "--server")} if server else {},
        lambda: _from_environment(environment),
        lambda: _from_file(environment, config),
        lambda: _from_lakectl(environment),
    ]
    values: dict[str, tuple[str, str]] = {}
    for source in sources:
        if "server" in values and len(values) > 1:
            break
        found = source()
        if "server" in found:
            values.setdefault("server", found["server"])
        if not values.keys() - {"server"}:
            values |= _credentials(found)
    url, origin = values.get("server", (DEFAULT_SERVER, "default"))
    return Settings(
        server_url(url, origin),
        values.get("access_key_id", ("", ""))[0],
        values.get("secret_access_key", ("", ""))[0],
        {"server": origin} | {name: where for name, (_, where) in values.items()},
        values.get("token", ("", ""))[0],
    )


def client_file(environment: Mapping[str, str], config: str | None = None) -> Path:
    """Returns the path of the file that `anabranch login` writes."""
    named = config or environment.get("ANABRANCH_CONFIG_FILE")
    if named:
        return Path(named).expanduser()
    folder = environment.get("XDG_CONFIG_HOME") or _home(environment) / ".config"
    return Path(folder) / "anabranch" / "client.toml"


def server_url(text: str, origin: str) -> str:
    """Returns a server's address without the path of its API; raises Usage for an invalid one."""
    url = text.strip().rstrip("/").removesuffix("/api/v1").rstrip("/")
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("http", "https") or not rest.partition("/")[0]:
        hint = "Write it like http://127.0.0.1:8000 or https://lake.example.com."
        raise Usage(f"{text!r} is not a server's address", hint=hint, where=origin)
    if "@" in rest.partition("/")[0]:
        hint = "Give credentials by `anabranch login` or in the environment."
        raise Usage("a server's address must not contain credentials", hint=hint, where=origin)
    return url


def _credentials(found: _Found) -> _Found:
    pair = {name: found[name] for name in PAIR if name in found}
    if not pair and "token" in found:
        return {"token": found["token"]}
    if len(pair) == 1:
        (present,) = pair
        missing = next(name for name in PAIR if name != present)
        raise Usage(
            f"{present} is set, but {missing} is not",
            where=pair[present][1],
            hint="Set both in the same place, or neither.",
        )
    return pair


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111  str or Path


def _from_environment(environment: Mapping[str, str]) -> _Found:
    variables = {name: f"ANABRANCH_{name.upper()}" for name in NAMES}
    return {
        name: (environment[variable], variable)
        for name, variable in variables.items()
        if environment.get(variable)
    }


def _from_file(environment: Mapping[str, str], config: str | None) -> _Found:
    path = client_file(environment, config)
    named = config or environment.get("ANABRANCH_CONFIG_FILE")
    if not path.is_file():
        if named:
            raise Usage(f"the file {path} does not exist", hint="`anabranch login` writes one.")
        return {}
    if path.suffix in (".yaml", ".yml"):
        return _read_lakectl(path)
    import tomllib  # noqa: PLC0415  only where there is a file

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _broken(path, error) from error
    for name, value in content.items():
        if name not in NAMES or not isinstance(value, str):
            raise Usage(
                f"{name!r} is not a setting" if name not in NAMES else f"{name} must be a string",
                where=str(path),
                hint=closest(name, NAMES) or f"The settings are {', '.join(NAMES)}.",
            )
    if (
        not content.keys().isdisjoint({"secret_access_key", "token"})
        and path.stat().st_mode & 0o077
    ):
        raise Usage(
            f"{path} contains a secret and is readable by other users",
            kind="insecure_file",
            hint=f"Run: chmod 600 {path}",
        )
    return {name: (value, str(path)) for name, value in content.items() if value}


def _from_lakectl(environment: Mapping[str, str]) -> _Found:
    found: dict[str, tuple[str, str]] = {}
    for name, keys in _LAKECTL.items():
        variable = "_".join(("LAKECTL", *keys)).upper()
        if environment.get(variable):
            found[name] = (environment[variable], variable)
    named = environment.get("LAKECTL_CONFIG_FILE")
    path = Path(named).expanduser() if named else _home(environment) / ".lakectl.yaml"
    if len(found) < len(_LAKECTL) and path.is_file():
        found = {**_read_lakectl(path), **found}
    return found


def _read_lakectl(path: Path) -> _Found:
    import yaml  # noqa: PLC0415  only where there is a file

    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise _broken(path, error) from error
    found = {}
    for name, keys in _LAKECTL.items():
        value: Any = content
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value:
            found[name] = (str(value), str(path))
    return found


def _broken(path: Path, error: Exception) -> Usage:
    reason = " ".join(str(error).split())
    return Usage(
        f"{path} cannot be read: {reason}",
        hint="Correct it, or write a new one with `anabranch login`.",
    )
