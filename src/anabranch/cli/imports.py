"""`import`: bring objects of the store onto a branch without copying them, and wait for that."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from anabranch.cli.address import address, prefix_address
from anabranch.cli.call import Call
from anabranch.cli.command import Command, Option
from anabranch.cli.counting import counting
from anabranch.cli.failure import Failure
from anabranch.cli.history import commit_details
from anabranch.cli.metadata import META, pairs
from anabranch.model.uri import LakeUri

__all__ = ["COMMAND"]

FIRST_POLL, LONGEST_POLL = 0.1, 2.0
_CONFLICT = 409
SILENT_SECONDS = 120.0
"""A server that has not been heard of for so long has forgotten the import; ours says so itself."""


def _import(call: Call) -> None:
    options = call.arguments
    to: LakeUri = options.to
    source = {
        "type": "object" if options.object else "common_prefix",
        "path": options.__dict__["from"],
        "destination": to.key,
    }
    body = {
        "paths": [source],
        "commit": {"message": options.message, "metadata": pairs(options.meta)},
        "force": options.force,
    }
    parts = ("repositories", to.repository, "branches", to.ref, "import")
    import_id = call.connection.send("POST", *parts, body=body)["id"]
    try:
        with counting(call.output, "Importing", silent=options.no_progress) as show:
            status = _wait(call, parts, import_id, show)
    except KeyboardInterrupt:
        _cancel(call, parts, import_id, address(to.repository, to.ref))
        raise
    number = status["ingested_objects"]
    if not call.output.json:
        where = address(to.repository, to.ref, to.key)
        call.output.line(f"Imported {number} object{'' if number == 1 else 's'} to {where}")
    call.output.details(commit_details(status["commit"]), status)


def _cancel(call: Call, parts: tuple[str, ...], import_id: str, branch: str) -> None:
    try:
        call.connection.send("DELETE", *parts, id=import_id)
    except Failure as failure:
        if failure.status != _CONFLICT:
            raise
        call.output.note(f"too late: the import is complete; see the log of {branch}")
    else:
        call.output.note(f"cancelled; {branch} is as it was")


def _wait(
    call: Call, parts: tuple[str, ...], import_id: str, show: Callable[[int], None]
) -> dict[str, Any]:
    """Returns the state of an import that is complete. Raises Failure for one that has failed."""
    pause, heard, updated = FIRST_POLL, time.monotonic(), ""
    while True:
        status: dict[str, Any] = call.connection.get(*parts, id=import_id)
        if status.get("error"):
            raise Failure(
                status["error"]["message"],
                kind="import_failed",
                hint="The branch is as it was. docs/import.md says what may be done.",
            )
        show(status.get("ingested_objects", 0))
        if status["completed"]:
            return status
        if status["update_time"] != updated:
            heard, updated = time.monotonic(), status["update_time"]
        elif time.monotonic() - heard > SILENT_SECONDS:
            raise Failure(
                f"nothing has been heard of the import {import_id} for {SILENT_SECONDS:.0f} s",
                kind="import_lost",
                hint="The server that ran it may have ended: look at the branch, and start again.",
            )
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_POLL)


COMMAND = Command(
    "import",
    "Bring objects that lie in the store already onto a branch",
    _import,
    options=(
        Option(
            "--from",
            "Where they lie: all that begins so (a folder's address ends with a slash)",
            "ADDRESS",
            required=True,
        ),
        Option(
            "--to",
            "Where they come: lakefs://REPOSITORY/BRANCH, or a folder on it, which is replaced",
            "PLACE",
            parse=prefix_address,
            required=True,
        ),
        Option("--object", "Import a single object, to exactly this place"),
        Option("-m, --message", "The message of the commit", "TEXT", default=""),
        META,
        Option("--no-progress", "Do not show how far it is"),
        Option("--force", "Import into a read-only repository"),
    ),
    details=(
        "Nothing is copied: the paths point to where the objects lie. What is under the place is "
        "replaced, by one commit. The import goes on in the server; Ctrl-C cancels it, and then "
        "the branch is as it was."
    ),
    examples=(
        "import --from s3://archive/2024/ --to lakefs://flights/main/raw/2024 -m 'Bring in 2024'",
        "import --object --from local:///raw/airports.csv --to lakefs://flights/main/airports.csv",
    ),
)
