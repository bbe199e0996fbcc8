"""`fs rm`: removes an object, or all objects below a path."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from anabranch.cli.commands.fs.transfer import Transfer
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.address import address
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.table import Column
from anabranch.cli.output.transfer_progress import progress
from anabranch.model.uri import LakeUri

__all__ = ["run"]

_COLUMNS = (Column("PATH", "name"),)
_BATCH = 1000


def run(context: CommandContext) -> None:
    """Removes the object or the folder of the argument."""
    place = context.arguments.place
    name = address(place.repository, place.ref, place.key)
    if context.arguments.recursive:
        _remove_folder(context, place)
        return
    if not place.key or place.key.endswith("/"):
        raise Usage(
            f"{name} is not the address of an object",
            hint="Add --recursive to remove all objects below it.",
        )
    context.connection.send(
        *("DELETE", "repositories", place.repository, "branches", place.ref, "objects"),
        path=place.key,
    )
    context.output.done(f"Removed {name}", {"path": place.key})


def _remove_folder(context: CommandContext, place: LakeUri) -> None:
    prefix = place.key
    if prefix and not prefix.endswith("/"):
        prefix += "/"
    with progress(context.output, "Removing") as bar:
        transfer = Transfer(bar)
        batches = transfer.each(
            _batches(context, place, prefix),
            lambda paths: _remove(context, place, paths, transfer),
            workers=context.arguments.concurrency,
            path=lambda paths: f"{paths[0]} and {len(paths) - 1} more",
        )
        removed = ({"path": path} for batch in batches for path in batch)
        if context.output.terminal:
            count = sum(1 for _ in removed)
            context.output.line(f"Removed {count} objects")
        else:
            context.output.rows(_COLUMNS, removed, lambda item: (item["path"],))
        transfer.finish("removed")


def _batches(context: CommandContext, place: LakeUri, prefix: str) -> Iterator[list[str]]:
    pages = context.connection.pages(
        *("repositories", place.repository, "refs", place.ref, "objects", "ls"),
        prefix=prefix or None,
    )
    paths: Iterator[str] = (item["path"] for item in pages)
    while batch := list(islice(paths, _BATCH)):
        yield batch


def _remove(
    context: CommandContext, place: LakeUri, paths: list[str], transfer: Transfer
) -> list[str]:
    """Returns the paths that were removed; records failures for the others."""
    answer: dict[str, Any] = context.connection.send(
        *("POST", "repositories", place.repository, "branches", place.ref, "objects", "delete"),
        body={"paths": paths},
    )
    failed = {error["path"]: error for error in (answer or {}).get("errors", ())}
    for path, error in failed.items():
        failure = Failure(error["message"], status=error.get("status_code", 0), kind="not_removed")
        transfer.fail(path, failure)
    return [path for path in paths if path not in failed]
