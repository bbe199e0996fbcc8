"""The settings of the command line's connection, whose errors are those of a command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from anabranch.cli.errors import Usage
from anabranch.client import settings
from anabranch.client.settings import InvalidSettings, Settings

__all__ = ["resolve", "server_url"]

_FLAG = "--server"


def resolve(
    environment: Mapping[str, str], *, server: str | None = None, config: str | None = None
) -> Settings:
    """Returns the settings in force, from the flags and the environment. Raises Usage for settings
    that are wrong.
    """
    with _usage_errors():
        given = {"server": (server, _FLAG)} if server else {}
        return settings.resolve(environment, given=given, config=config)


def server_url(text: str) -> str:
    """Returns the address that a flag has, without the path of its API; raises Usage for an invalid
    one.
    """
    with _usage_errors():
        return settings.server_url(text, _FLAG)


@contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except InvalidSettings as error:
        kind = None if error.kind == "invalid_settings" else error.kind
        raise Usage(error.message, kind=kind, hint=error.hint, where=error.where) from error
