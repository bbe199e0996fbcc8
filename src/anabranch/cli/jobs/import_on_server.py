"""Imports that the server runs: starts, watches and, after an interrupt, cancels them."""

from __future__ import annotations

from typing import Any

from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.framework.metadata import pairs
from anabranch.cli.jobs.poll_job import Job, await_end
from anabranch.cli.output.progress import show_progress
from anabranch.model.uri import LakeUri

__all__ = ["import_on_server"]

_CONFLICT = 409
_JOB = Job(
    noun="import",
    id="",
    counted="ingested_objects",
    failed="The branch was not changed. See docs/import.md.",
    lost="The server that ran it may have stopped: look at the branch, and start again.",
)


def import_on_server(context: CommandContext) -> dict[str, Any]:
    """Returns the state of an import by prefix, or of an object, when it is complete. Raises
    Failure if it failed. An interrupt cancels it.
    """
    options = context.arguments
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
    import_id = context.connection.send("POST", *parts, body=body)["id"]
    try:
        with show_progress(context.output, rate=True, silent=options.no_progress) as progress:
            progress.begin("Importing", 0)
            return await_end(
                _JOB._replace(id=import_id),
                lambda: context.connection.get(*parts, id=import_id),
                progress,
            )
    except KeyboardInterrupt:
        _cancel(context, parts, import_id, address(to.repository, to.ref))
        raise


def _cancel(context: CommandContext, parts: tuple[str, ...], import_id: str, branch: str) -> None:
    try:
        context.connection.send("DELETE", *parts, id=import_id)
    except Failure as failure:
        if failure.status != _CONFLICT:
            raise
        context.output.note(f"too late: the import is complete; see the log of {branch}")
    else:
        context.output.note(f"cancelled; {branch} was not changed")
