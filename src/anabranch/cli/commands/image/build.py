"""`image build`: reads a Lakefile on this machine, so that errors show their line, and builds it on
the server.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from anabranch.cli.commands.image.description import image_details, warn
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.jobs.poll_job import Job, await_end
from anabranch.cli.output.progress import show_progress
from anabranch.model.lakefile.instructions import MAX_BYTES
from anabranch.model.lakefile.parser import parse_lakefile

__all__ = ["run"]

_WAIT_SECONDS = 2
_AT_LINE = re.compile(r"Lakefile:(\d+): ")
_JOB = Job(
    noun="build",
    id="",
    counted="objects_seen",
    failed="No image was built.",
    lost="The server that ran it may have stopped: look for the image, and start again.",
)


def run(context: CommandContext) -> None:
    """Builds an image, or shows what would be built."""
    given = context.arguments
    text, name = _read(given.file)
    arguments = dict(given.arg)
    if len(arguments) < len(given.arg):
        raise Usage("a build argument is given twice", hint="Give each --arg once.")
    parse_lakefile(text, arguments, file=name)
    body = {
        "lakefile": text.decode(),
        "arguments": arguments,
        "strict": given.strict,
        "allow_empty": given.allow_empty,
    }
    try:
        item = _resolve(context, body) if given.dry_run else _build(context, body)
    except Failure as failure:
        _show_line(failure, text.decode(), name)
        raise
    if not context.output.json:
        warn(context, item)
    context.output.details(image_details(item), item)


def _resolve(context: CommandContext, body: dict[str, Any]) -> dict[str, Any]:
    item: dict[str, Any] = context.connection.send(
        "POST", "images", f"{context.arguments.tag}:resolve", body=body
    )
    return item


def _build(context: CommandContext, body: dict[str, Any]) -> dict[str, Any]:
    tag = context.arguments.tag
    item: dict[str, Any] = context.connection.send(
        "POST", "images", tag, body=body, wait=_WAIT_SECONDS
    )
    if "uri" in item:
        return item
    build_id = item["id"]

    def ask() -> dict[str, Any]:
        status: dict[str, Any] = context.connection.get("images", f"{tag}:builds", id=build_id)
        return status

    try:
        with show_progress(
            context.output, rate=True, silent=context.arguments.no_progress
        ) as progress:
            progress.begin("Building", 0)
            await_end(_JOB._replace(id=build_id), ask, progress)
    except KeyboardInterrupt:
        context.output.note(
            f"the build continues; `anabranch image show {tag}` shows when it is done"
        )
        raise
    return _image(context, tag)


def _read(place: str) -> tuple[bytes, str]:
    """Returns the text of a Lakefile and its name in errors. A file that is too long is read only
    up to the limit.
    """
    if place == "-":
        return sys.stdin.buffer.read(MAX_BYTES + 1), "standard input"
    with Path(place).open("rb") as file:
        return file.read(MAX_BYTES + 1), place


def _show_line(failure: Failure, text: str, name: str) -> None:
    """Adds the line that a server's message is about."""
    found = _AT_LINE.match(failure.message)
    lines = text.splitlines()
    if found is None or not 0 < int(found[1]) <= len(lines):
        return
    line = lines[int(found[1]) - 1]
    margin = line[: len(line) - len(line.lstrip())]
    column = len(margin) + 1
    message = failure.message[found.end() :]
    failure.message = f"{name}:{found[1]}:{column}: {message}\n  {line.rstrip()}\n  {margin}^"
    failure.args = (failure.message,)


def _image(context: CommandContext, tag: str) -> dict[str, Any]:
    item: dict[str, Any] = context.connection.get("images", tag)
    return item
