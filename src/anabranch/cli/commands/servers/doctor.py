"""`doctor`: checks a server's settings, stores, permissions and clock."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import msgspec

from anabranch.cli.errors import Failure
from anabranch.cli.framework.command import Command, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.server_settings import server_settings
from anabranch.cli.output.format import paint, printable
from anabranch.cli.output.streams import Output

if TYPE_CHECKING:
    from anabranch.server.doctor.check_result import CheckResult

__all__ = ["COMMAND"]

_STYLES = {"sound": "added", "doubtful": "changed", "wrong": "error"}


def _doctor(context: CommandContext) -> int:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.doctor.run import run_checks  # noqa: PLC0415

    given = context.arguments
    loaded = server_settings(context, given.data, given.config, given.listen)
    results = []
    for result in run_checks(loaded.settings, time.time, secrets.token_bytes):
        results.append(result)
        if not context.output.json:
            _print(context.output, result)
    if context.output.json:
        context.output.document(msgspec.to_builtins(results))
    wrong = sum(result.state == "wrong" for result in results)
    if wrong and not context.output.json:
        context.output.line(f"{wrong} of {len(results)} checks failed")
    return Failure.exit_code if wrong else 0


def _print(output: Output, result: CheckResult) -> None:
    state = paint(f"{result.state:<8}", _STYLES[result.state], colour=output.colour)
    output.line(f"{state}  {result.about:<8}  {printable(result.message)}")
    if result.hint:
        output.line(f"{'':<20}{printable(result.hint)}")


COMMAND = Command(
    "doctor",
    "Check a server's settings, database, object store and clock",
    _doctor,
    options=(
        Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
        Option("--listen", "The server's address [default: 127.0.0.1:8000]", "HOST:PORT"),
        Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
    ),
    details="Run it as the server's user with the server's settings; a server may run meanwhile. "
    "It tries every permission that the server needs in an object store, reports missing ones "
    "and what to grant, and removes its test objects where it may. Of a running server it reads "
    "the metrics, and says which of them show trouble. It exits with 1 if something is wrong.",
    examples=(
        "doctor",
        "doctor --config /etc/anabranch.toml --listen 127.0.0.1:8001",
        "doctor --json",
    ),
    connects=False,
)
