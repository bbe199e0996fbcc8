"""`refs`: dump the references of a repository to its storage namespace, and restore them.

The JSON is that of lakectl's `refs-dump` and `refs-restore`: their files are interchangeable.
"""

from __future__ import annotations

import json
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Any

from anabranch.cli.commands.repositories.repo import REPOSITORY
from anabranch.cli.errors import Failure
from anabranch.cli.framework.address import address
from anabranch.cli.framework.command import Command, Group, Option
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.jobs.poll_job import Job, await_end
from anabranch.cli.output.progress import show_progress

__all__ = ["COMMAND"]

_IDS = ("branches_meta_range_id", "commits_meta_range_id", "tags_meta_range_id")
_READ_ONLY = (
    "The repository is read-only, which is not in a dump: to restore it so, use "
    "`repo create-bare --read-only` and `refs restore --force`."
)
_DUMP = Job(
    noun="dump",
    id="",
    counted="processed",
    failed="Dump the references again.",
    lost="The server that ran it may have stopped: start it again.",
)
_RESTORE = Job(
    noun="restore",
    id="",
    counted="processed",
    failed="Nothing was restored: the repository is bare still. See docs/moving-from-lakefs.md.",
    lost="The server that ran it may have stopped: look at the repository, and start it again.",
)


def _dump(context: CommandContext) -> None:
    repository = context.arguments.repository.repository
    parts = ("repositories", repository, "dump")
    task_id = context.connection.send("POST", *parts)["id"]
    status = _await_task(context, _DUMP._replace(id=task_id), parts, "Dumping")
    refs = {name: status["refs"][name] for name in _IDS}
    text = json.dumps(refs, indent=2)
    if _is_read_only(context, repository):
        context.output.note(_READ_ONLY)
    output = context.arguments.output
    if output not in ("", "-"):
        Path(output).write_text(f"{text}\n", encoding="utf-8")
        context.output.done(f"Wrote the references of {address(repository)} to {output}", refs)
    else:
        context.output.line(text)


def _is_read_only(context: CommandContext, repository: str) -> bool:
    """Returns whether a repository is read-only; False if the user may dump it, but not read its
    record.
    """
    try:
        item = context.connection.get("repositories", repository)
    except Failure as failure:
        if failure.status != HTTPStatus.FORBIDDEN:
            raise
        return False
    return bool(item.get("read_only"))


def _restore(context: CommandContext) -> None:
    repository = context.arguments.repository.repository
    body = _manifest(context.arguments.manifest)
    if context.arguments.force:
        body["force"] = True
    parts = ("repositories", repository, "restore")
    task_id = context.connection.send("POST", *parts, body=body)["id"]
    _await_task(context, _RESTORE._replace(id=task_id), parts, "Restoring")
    context.output.done(f"Restored the references of {address(repository)}", body)


def _manifest(name: str) -> dict[str, Any]:
    """Returns the ids in a file, or in standard input for `-`. Raises Failure."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        manifest = json.loads(text)
    except ValueError as error:  # UnicodeDecodeError is one
        raise _no_manifest(name, str(error)) from error
    if not isinstance(manifest, dict):
        raise _no_manifest(name, "it is no JSON object")
    for key in _IDS:
        if not isinstance(manifest.get(key), str):
            raise _no_manifest(name, f"it has no text {key!r}")
    return {key: manifest[key] for key in (*_IDS, "force") if key in manifest}


def _no_manifest(name: str, reason: str) -> Failure:
    return Failure(
        f"{name} is not a manifest of references: {reason}",
        kind="invalid_manifest",
        hint="`refs dump` writes one, and so does lakeFS to _lakefs/refs_manifest.json.",
    )


def _await_task(
    context: CommandContext, job: Job, parts: tuple[str, ...], step: str
) -> dict[str, Any]:
    """Returns the status of a task that has succeeded. Raises Failure."""

    def ask() -> dict[str, Any]:
        status: dict[str, Any] = context.connection.get(*parts, task_id=job.id)
        status["completed"] = status["done"]
        if status.get("error"):
            status["error"] = {"message": status["error"]}
        return status

    with show_progress(context.output, silent=context.arguments.no_progress) as progress:
        progress.begin(step, 0)
        return await_end(job, ask, progress)


_NO_PROGRESS = Option("--no-progress", "Do not show the progress")

COMMAND = Group(
    "refs",
    "Dump and restore the commits, branches and tags of a repository",
    (
        Command(
            "dump",
            "Dump the commits, branches and tags to the repository's storage namespace",
            _dump,
            arguments=(REPOSITORY,),
            options=(
                Option(
                    "-o, --output", "Write the ids of the dump to this file", "FILE", default=""
                ),
                _NO_PROGRESS,
            ),
            details="The dump is what the repository is at one moment; uncommitted changes are not "
            "in it, nor whether the repository is read-only. Its ids are printed as JSON, and also "
            "written to _lakefs/refs_manifest.json in the storage namespace. `refs-dump` is "
            "another name of this command.",
            examples=("refs dump lakefs://flights", "refs dump lakefs://flights -o refs.json"),
        ),
        Command(
            "restore",
            "Restore the commits, branches and tags of a dump in a bare repository",
            _restore,
            arguments=(REPOSITORY,),
            options=(
                Option(
                    "--manifest",
                    "The file with the ids of the dump, - for standard input",
                    "FILE",
                    required=True,
                ),
                Option("--force", "Restore in a read-only repository"),
                _NO_PROGRESS,
            ),
            details="The repository is created with `repo create-bare` on the storage namespace "
            "that has the dump, which may be one of lakeFS. All references are restored, or none. "
            "`refs-restore` is another name of this command.",
            examples=("refs restore lakefs://flights --manifest refs.json",),
        ),
    ),
)
