"""`config`: the settings in force."""

from __future__ import annotations

from anabranch.cli.framework.command import Command, Group
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

_COLUMNS = (Column("SETTING", "name"), Column("VALUE"), Column("FROM"))
_SHOWN = 4


def _show(context: CommandContext) -> None:
    settings = context.settings
    values = {
        "server": settings.server,
        "access_key_id": settings.access_key_id,
        "secret_access_key": _mask(settings.secret_access_key),
    }
    if settings.token:
        values = {"server": settings.server, "token": _mask(settings.token)}
    items = [
        {"setting": name, "value": value, "from": settings.sources.get(name, "not set")}
        for name, value in values.items()
    ]
    context.output.rows(
        _COLUMNS, items, lambda item: (item["setting"], item["value"], item["from"])
    )


def _mask(secret: str) -> str:
    """Returns enough of a secret to recognize it."""
    if len(secret) < 4 * _SHOWN:
        return "*" * len(secret)
    return f"{secret[:_SHOWN]}{'*' * 8}"


COMMAND = Group(
    "config",
    "Show the settings in force",
    (
        Command(
            "show",
            "Show the settings of the connection and where each comes from",
            _show,
            details="""Settings come from, in this order: the flags --server and --config;
ANABRANCH_SERVER, ANABRANCH_ACCESS_KEY_ID and ANABRANCH_SECRET_ACCESS_KEY, or ANABRANCH_TOKEN, in
the environment; the file ~/.config/anabranch/client.toml, which `anabranch login` writes;
LAKECTL_SERVER_ENDPOINT_URL, LAKECTL_CREDENTIALS_ACCESS_KEY_ID and
LAKECTL_CREDENTIALS_SECRET_ACCESS_KEY; ~/.lakectl.yaml.
Without any, the server is http://127.0.0.1:8000. A key and its secret come from the same place.""",
            examples=("config show",),
        ),
    ),
    default="show",
)
