"""Purges that the server runs: waits for them and shows their progress."""

from __future__ import annotations

from typing import Any

from anabranch.cli.framework.context import CommandContext
from anabranch.cli.jobs.poll_job import Job, await_end
from anabranch.cli.output.format import size
from anabranch.cli.output.progress import show_progress

__all__ = ["await_purge", "format_purged"]

_JOB = Job(
    noun="purge",
    id="",
    counted="removed",
    failed="`anabranch repo namespaces` lists it if the repository was deleted; start it again.",
    lost="The server that ran it may have stopped: `anabranch repo purge` continues.",
)


def await_purge(context: CommandContext, purge: dict[str, Any]) -> dict[str, Any]:
    """Returns the result of a purge, given the response that it was started. Raises Failure if it
    failed. After an interrupt the server continues.
    """
    with show_progress(context.output, rate=True, silent=context.arguments.no_progress) as progress:
        progress.begin("Removing", 0)
        status = await_end(
            _JOB._replace(id=purge["id"]),
            lambda: context.connection.get("storage", "namespaces", "purges", **purge),
            progress,
        )
    result: dict[str, Any] = status["result"]
    return result


def format_purged(result: dict[str, Any]) -> str:
    """Returns what a purge has removed, for people."""
    objects = "1 object" if result["objects"] == 1 else f"{result['objects']:,} objects"
    text = f"removed {objects}, {size(result['bytes'])}"
    if result["kept"]:
        text += f"; {result['kept']:,} files in its folder are not its own and stay"
    return text
