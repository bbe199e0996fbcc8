"""`audit`: searches the files of an audit log, and verifies them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anabranch.audit.chain import parse_line
from anabranch.audit.file import with_older_files
from anabranch.audit.filter import RecordFilter
from anabranch.audit.verification import verify
from anabranch.cli.errors import Failure
from anabranch.cli.framework.command import Argument, Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column

__all__ = ["COMMAND"]

_STDIN = "-"
_ALTERED = 1
_COLUMNS = (
    Column("TIME"),
    Column("USER", "name"),
    Column("ALLOWED"),
    Column("ACTION"),
    Column("RESOURCE"),
    Column("POLICY"),
    Column("ADDRESS"),
    Column("REQUEST", "id"),
)


def _time(text: str) -> str:
    """Returns a time in the form of the log; raises ValueError."""
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def _lines(context: CommandContext) -> Iterator[bytes]:
    """Yields the lines of the files, without their newlines."""
    names: list[str] = context.arguments.file
    for name in names:
        if name == _STDIN:
            yield from (line.rstrip(b"\n") for line in sys.stdin.buffer)
            continue
        paths = with_older_files(Path(name)) if context.arguments.older else [Path(name)]
        for path in paths:
            with path.open("rb") as file:
                yield from (line.rstrip(b"\n") for line in file)


_TEXTS = [name for name in RecordFilter.__struct_fields__ if name != "denied"]


def _show(context: CommandContext) -> None:
    records = (record for line in _lines(context) if (record := parse_line(line)) is not None)
    wanted = RecordFilter(
        **{name: getattr(context.arguments, name) or "" for name in _TEXTS},
        denied=context.arguments.denied,
    )
    matching = (record for record in records if wanted.matches(record))
    context.output.rows(_COLUMNS, matching, _cells)


def _cells(record: dict[str, Any]) -> tuple[str, ...]:
    allowed = {True: "yes", False: "no"}.get(record.get("allowed"), "")  # type: ignore[arg-type]
    action = record.get("action") or record.get("event", "")
    if record.get("event") == "change":
        action, allowed = f"{record.get('operation', '')}: {record.get('status', '')}", ""
    return (
        str(record.get("time", "")),
        str(record.get("user") or record.get("access_key_id", "")),
        allowed,
        str(action),
        str(record.get("resource", "")),
        str(record.get("policy") or record.get("reason", "")),
        str(record.get("source_ip", "")),
        str(record.get("request_id", "")),
    )


def _verify(context: CommandContext) -> int:
    result = verify(_lines(context), is_beginning=context.arguments.beginning)
    item = {"lines": result.lines, "problem": result.problem}
    if result.problem:
        raise Failure(
            f"line {result.lines + 1}: {result.problem}",
            kind="altered",
            hint=f"The {result.lines:,} lines before it are as they were written.",
        )
    context.output.done(f"All {result.lines:,} lines are as they were written", item)
    return 0


_FILES = Argument("FILE", "A file of the audit log; `-`: standard input", repeat=True)
_OLDER = Option("--older", "Begin with the older files, FILE.1 and so on")


def _filter(name: str, help_: str) -> Option:
    return Option(f"--{name}", help_, name.upper().replace("-", "_"), default="")


COMMAND = Group(
    "audit",
    "Search and verify the audit log",
    (
        Command(
            "show",
            "Show records of the audit log",
            _show,
            arguments=(_FILES,),
            options=(
                _filter("user", "Only records of this user"),
                _filter("action", "Only decisions on this action, such as fs:ReadObject"),
                _filter("resource", "Only decisions on resources that begin with this"),
                _filter("operation", "Only records of this operation, such as getObject"),
                _filter("source-ip", "Only requests from this address"),
                _filter("request-id", "Only records of this request"),
                Option(
                    "--event",
                    "Only these records",
                    "EVENT",
                    choices=("decision", "authentication", "change", "lost", "torn"),
                    default="",
                ),
                Option("--denied", "Only what was denied"),
                Option("--since", "Only records since this time", "TIME", parse=_time),
                Option("--until", "Only records before this time", "TIME", parse=_time),
                _OLDER,
            ),
            examples=(
                "audit show audit.log --user jane --denied",
                "audit audit.log --older --action fs:DeleteRepository --since 2026-11-01",
            ),
            connects=False,
        ),
        Command(
            "verify",
            "Check that no line was altered, removed or added",
            _verify,
            arguments=(_FILES,),
            options=(
                _OLDER,
                Option("--beginning", "The first line must be the first that was ever written"),
            ),
            details="Files are given with the oldest first. The exit code is 1 if a line was "
            "altered; the first such line is named. Lines that were removed at the end are not "
            "noticed: keep the last digest elsewhere, or send the log to syslog as well.",
            examples=("audit verify audit.log", "audit verify audit.log --older"),
            connects=False,
        ),
    ),
    default="show",
)
