"""An import that the server does: it is started, watched and, at a word, cancelled."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from anabranch.cli.address import address
from anabranch.cli.call import Call
from anabranch.cli.counting import counting
from anabranch.cli.failure import Failure
from anabranch.cli.metadata import pairs
from anabranch.model.uri import LakeUri

__all__ = ["served_import"]

FIRST_POLL, LONGEST_POLL = 0.1, 2.0
_CONFLICT = 409
SILENT_SECONDS = 120.0
"""A server that has not been heard of for so long has forgotten the import; ours says so itself."""


def served_import(call: Call) -> dict[str, Any]:
    """Returns the state of an import by prefix, or of an object, when it is complete. Raises
    Failure for one that has failed; one that is interrupted is cancelled.
    """
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
            return _wait(call, parts, import_id, show)
    except KeyboardInterrupt:
        _cancel(call, parts, import_id, address(to.repository, to.ref))
        raise


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
