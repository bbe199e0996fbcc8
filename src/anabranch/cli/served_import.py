"""An import that the server does: it is started, watched and, at a word, cancelled."""

from __future__ import annotations

from typing import Any

from anabranch.cli.address import address
from anabranch.cli.call import Call
from anabranch.cli.counting import counting
from anabranch.cli.failure import Failure
from anabranch.cli.metadata import pairs
from anabranch.cli.waiting import Job, await_end
from anabranch.model.uri import LakeUri

__all__ = ["served_import"]

_CONFLICT = 409
_JOB = Job(
    noun="import",
    id="",
    counted="ingested_objects",
    failed="The branch is as it was. docs/import.md says what may be done.",
    lost="The server that ran it may have ended: look at the branch, and start again.",
)


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
            return await_end(
                _JOB._replace(id=import_id), lambda: call.connection.get(*parts, id=import_id), show
            )
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
