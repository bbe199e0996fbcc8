"""`mcp`: tools over a lake for programs that use language models, on standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.cli.errors import Usage
from anabranch.cli.framework.command import Command, Option, positive_number
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.errors import Invalid

if TYPE_CHECKING:
    from anabranch.mcp.api import Performer

__all__ = ["COMMAND"]


def _mcp(context: CommandContext) -> None:
    given = context.arguments
    if given.data is None:
        _serve_remote(context)
        return
    folder = Path(given.data)
    if not folder.is_dir():
        raise Usage(f"{folder} is no folder", hint="Name the folder of a lake by --data.")
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.local_caller import open_as_local_user  # noqa: PLC0415

    settings = server_settings(context, given.data, None).settings
    with open_as_local_user(settings, writes=given.write) as performer:
        _serve(context, performer)


def _serve_remote(context: CommandContext) -> None:
    from anabranch.mcp.performers.remote_performer import RemotePerformer  # noqa: PLC0415  as above

    settings = context.settings
    try:
        performer = RemotePerformer(settings.server, settings.authorization, context.environment)
    except ValueError as error:
        raise Usage(f"{settings.server}: {error}", hint="Correct the server's address.") from error
    try:
        _serve(context, performer)
    finally:
        performer.close()


def _serve(context: CommandContext, performer: Performer) -> None:
    try:
        from anabranch.mcp.lake_server import make_server, offer  # noqa: PLC0415  an extra
        from anabranch.mcp.stdio import serve_stdio  # noqa: PLC0415  an extra
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("mcp"):
            raise
        raise Invalid(
            "the command mcp needs an extra that is not installed",
            kind="extra_missing",
            hint="pip install 'anabranch[mcp]'",
        ) from None
    from anabranch import __version__  # noqa: PLC0415  slow as well
    from anabranch.mcp.execution import Runner  # noqa: PLC0415  as above
    from anabranch.mcp.limits import CallLimits  # noqa: PLC0415  as above

    runner = Runner(CallLimits(seconds=context.arguments.timeout))
    serve_stdio(make_server(offer(__version__, write=context.arguments.write), performer, runner))


COMMAND = Command(
    "mcp",
    "Serve tools for language models on standard input and output",
    _mcp,
    options=(
        Option("--data", "Open the lake in this folder, and no server", "DIR"),
        Option("--write", "Offer tools that change workspaces, which they create"),
        Option("--timeout", "Time limit of a call in seconds", "SECONDS", positive_number, 60.0),
    ),
    details="""Speaks the Model Context Protocol with the program that starts it: see docs/mcp.md
for the configuration of such programs. It reads with the permissions of the credentials in force;
with --data, with all, as the user who may read the folder. It changes nothing, with --write nothing
but workspaces. Needs the extra mcp.""",
    examples=("mcp", "mcp --server https://lake.example.com --write", "mcp --data /srv/lake"),
)
