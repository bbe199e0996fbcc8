"""`doctor`: looks for what is wrong with a server's settings, stores and surroundings."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from anabranch.cli.call import Call
from anabranch.cli.cells import paint, printable
from anabranch.cli.command import Command, Option
from anabranch.cli.failure import Failure
from anabranch.cli.output import Output

if TYPE_CHECKING:
    from anabranch.server.doctor.finding import Finding

__all__ = ["COMMAND"]

_STYLES = {"sound": "added", "doubtful": "changed", "wrong": "error"}


def _doctor(call: Call) -> int:
    # the server's libraries are slow to import, and --help must not wait for them
    from anabranch.server.doctor.examination import examine  # noqa: PLC0415
    from anabranch.server.load_settings import load_settings  # noqa: PLC0415

    given = call.arguments
    config = None if given.config is None else Path(given.config)
    loaded = load_settings({"data": given.data}, os.environ, config)
    for warning in loaded.warnings:
        call.output.note(warning)
    findings = []
    for finding in examine(loaded.settings, time.time, secrets.token_bytes):
        findings.append(finding)
        if not call.output.json:
            _print(call.output, finding)
    if call.output.json:
        call.output.document(msgspec.to_builtins(findings))
    wrong = sum(finding.state == "wrong" for finding in findings)
    if wrong and not call.output.json:
        call.output.line(f"{wrong} of {len(findings)} are wrong")
    return Failure.exit_code if wrong else 0


def _print(output: Output, finding: Finding) -> None:
    state = paint(f"{finding.state:<8}", _STYLES[finding.state], colour=output.colour)
    output.line(f"{state}  {finding.about:<8}  {printable(finding.message)}")
    if finding.hint:
        output.line(f"{'':<20}{printable(finding.hint)}")


COMMAND = Command(
    "doctor",
    "Look for what is wrong with a server's settings, database, store and clock",
    _doctor,
    options=(
        Option("--data", "The server's data folder [default: anabranch-data]", "DIR"),
        Option("-c, --config", "Read settings from this file, TOML or lakeFS's YAML", "FILE"),
    ),
    details="Run it as the server's user with the server's settings; a server may run meanwhile. "
    "It tries every right that the server needs in an object store, says which is lacking and what "
    "to grant, and leaves nothing behind that it may remove. It exits with 1 if something is "
    "wrong.",
    examples=("doctor", "doctor --config /etc/anabranch.toml", "doctor --json"),
    connects=False,
)
