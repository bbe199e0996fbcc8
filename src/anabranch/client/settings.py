"""The settings of the connection: the server's address and the credentials.

Credentials are a key pair or a token. Sources, in order of precedence: what the caller gives, such
as the command line's flags; `ANABRANCH_*` in the environment; the file that `anabranch login`
writes (`~/.config/anabranch/client.toml`); and the settings of lakectl: `LAKECTL_*`, then
`~/.lakectl.yaml`. Credentials always come from one source, because halves of two pairs never match;
where one has a pair and a token, the pair counts. Files are opened only if the sources before them
leave something out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from anabranch.errors import Invalid
from anabranch.errors.did_you_mean import closest

if TYPE_CHECKING:
    from anabranch.model.secret import Secret

__all__ = [
    "DEFAULT_SERVER",
    "InvalidSettings",
    "Settings",
    "client_file",
    "resolve",
    "server_url",
]

DEFAULT_SERVER = "http://127.0.0.1:8000"
PAIR = ("access_key_id", "secret_access_key")
NAMES = ("server", *PAIR, "token")

Found = Mapping[str, tuple[str, str]]
"""The settings of one source: the name of each, its value and its exact location."""

NOTHING: Found = MappingProxyType({})

_LAKECTL = {
    "server": ("server", "endpoint_url"),
    "access_key_id": ("credentials", "access_key_id"),
    "secret_access_key": ("credentials", "secret_access_key"),
}


class InvalidSettings(Invalid):
    """Settings that are wrong; `where` is the variable, the file or the argument that has them."""

    def __init__(
        self, message: str, *, kind: str = "invalid_settings", hint: str = "", where: str = ""
    ) -> None:
        super().__init__(message, kind=kind, hint=hint)
        self.where = where


class Settings(NamedTuple):
    """The settings of a connection; `sources` has the location of each."""

    server: str
    access_key_id: str
    secret_access_key: str
    sources: Mapping[str, str]
    token: str = ""

    @property
    def authorization(self) -> Secret:
        """The header that authenticates requests, empty without credentials."""
        from anabranch.client.authorization import (  # noqa: PLC0415  only where there are requests
            basic_authorization,
            token_authorization,
        )

        if self.token:
            return token_authorization(self.token)
        return basic_authorization(self.access_key_id, self.secret_access_key)


def resolve(
    environment: Mapping[str, str], *, given: Found = NOTHING, config: str | None = None
) -> Settings:
    """Returns the settings in force: what the caller gives, and what other sources have for the
    rest; `config` is a file in place of that of `anabranch login`. Raises InvalidSettings for a
    file that is invalid or that other users can read, and for a key without a secret or the
    reverse.
    """
    sources: list[Callable[[], Found]] = [
        lambda: given,
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
    """Returns a server's address without the path of its API. Raises InvalidSettings for one that
    is not valid; `origin` is where it comes from.
    """
    url = text.strip().rstrip("/").removesuffix("/api/v1").rstrip("/")
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in ("http", "https") or not rest.partition("/")[0]:
        hint = "Write it like http://127.0.0.1:8000 or https://lake.example.com."
        raise InvalidSettings(f"{text!r} is not a server's address", hint=hint, where=origin)
    if "@" in rest.partition("/")[0]:
        hint = "Give credentials by `anabranch login` or in the environment."
        raise InvalidSettings(
            "a server's address must not contain credentials", hint=hint, where=origin
        )
    return url


def _credentials(found: Found) -> Found:
    pair = {name: found[name] for name in PAIR if name in found}
    if not pair and "token" in found:
        return {"token": found["token"]}
    if len(pair) == 1:
        (present,) = pair
        missing = next(name for name in PAIR if name != present)
        raise InvalidSettings(
            f"{present} is set, but {missing} is not",
            where=pair[present][1],
            hint="Set both in the same place, or neither.",
        )
    return pair


def _home(environment: Mapping[str, str]) -> Path:
    return Path(environment.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111  str or Path


def _from_environment(environment: Mapping[str, str]) -> Found:
    variables = {name: f"ANABRANCH_{name.upper()}" for name in NAMES}
    return {
        name: (environment[variable], variable)
        for name, variable in variables.items()
        if environment.get(variable)
    }


def _from_file(environment: Mapping[str, str], config: str | None) -> Found:
    path = client_file(environment, config)
    named = config or environment.get("ANABRANCH_CONFIG_FILE")
    if not path.is_file():
        if named:
            raise InvalidSettings(
                f"the file {path} does not exist", hint="`anabranch login` writes one."
            )
        return {}
    if path.suffix in (".yaml", ".yml"):
        return _read_lakectl(path)
    import tomllib  # noqa: PLC0415  only where there is a file

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise _broken(path, error) from error
    for name, value in content.items():
        if name not in NAMES or not isinstance(value, str):
            raise InvalidSettings(
                f"{name!r} is not a setting" if name not in NAMES else f"{name} must be a string",
                where=str(path),
                hint=closest(name, NAMES) or f"The settings are {', '.join(NAMES)}.",
            )
    if (
        not content.keys().isdisjoint({"secret_access_key", "token"})
        and path.stat().st_mode & 0o077
    ):
        raise InvalidSettings(
            f"{path} contains a secret and is readable by other users",
            kind="insecure_file",
            hint=f"Run: chmod 600 {path}",
        )
    return {name: (value, str(path)) for name, value in content.items() if value}


def _from_lakectl(environment: Mapping[str, str]) -> Found:
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


def _read_lakectl(path: Path) -> Found:
    import yaml  # noqa: PLC0415  only where there is a file

    try:
        content = yaml.safe_load(path.read_text("utf-8"))
    # the library raises any of these for values that are not of their tags, as in `!!bool a`
    except (
        *(OSError, yaml.YAMLError, RecursionError),
        *(ValueError, LookupError, AttributeError),
    ) as error:
        raise _broken(path, error) from error
    found = {}
    for name, keys in _LAKECTL.items():
        value: Any = content
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if value:
            found[name] = (str(value), str(path))
    return found


def _broken(path: Path, error: Exception) -> InvalidSettings:
    reason = " ".join(str(error).split())
    return InvalidSettings(
        f"{path} cannot be read: {reason}",
        hint="Correct it, or write a new one with `anabranch login`.",
    )
