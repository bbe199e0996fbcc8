"""`fs download`: downloads an object to a file, or all objects below a path to a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anabranch.cli.commands.fs.save_file import local_path, save
from anabranch.cli.commands.fs.transfer import Transfer
from anabranch.cli.errors import Usage
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable, size
from anabranch.cli.output.table import Column
from anabranch.cli.output.transfer_progress import progress
from anabranch.model.uri import LakeUri

__all__ = ["objects_below", "run"]

_COLUMNS = (Column("PATH", "name"), Column("SIZE", "size"), Column("FILE"))


def run(context: CommandContext) -> None:
    """Downloads the object, or the objects below a path, that the arguments name."""
    place = context.arguments.place
    with progress(context.output, "Downloading") as bar:
        transfer = Transfer(bar)
        if context.arguments.recursive:
            _download_folder(context, place, transfer)
        else:
            _download_one(context, place, transfer)


def _download_one(context: CommandContext, place: LakeUri, transfer: Transfer) -> None:
    name = place.key.rpartition("/")[2]
    if not name:
        raise Usage(
            f"{place.key!r} is not the path of an object"
            if place.key
            else "this is not the path of an object",
            hint="Add --recursive to download all objects below it.",
        )
    target = context.arguments.file or ""
    file = Path(target or ".")
    if not target or target.endswith("/") or file.is_dir():
        file /= name
    item = save(context, place, place.key, file, transfer, expected=False)
    context.output.done(f"Downloaded {printable(str(file))}, {size(item['size_bytes'])}", item)


def _download_folder(context: CommandContext, place: LakeUri, transfer: Transfer) -> None:
    folder = Path(context.arguments.file or ".")
    prefix = place.key
    if prefix and not prefix.endswith("/"):
        prefix += "/"

    def fetch(item: dict[str, Any]) -> dict[str, Any]:
        key = item["path"]
        return save(context, place, key, local_path(folder, key.removeprefix(prefix)), transfer)

    results = transfer.each(
        objects_below(context, place, prefix, transfer),
        fetch,
        workers=context.arguments.parallelism,
        path=lambda item: str(item["path"]),
    )
    if context.output.terminal:
        sizes = [item["size_bytes"] for item in results]
        context.output.line(
            f"Downloaded {len(sizes)} objects into {printable(str(folder))}, {size(sum(sizes))}"
        )
    else:
        context.output.rows(
            _COLUMNS, results, lambda item: (item["path"], item["size_bytes"], item["file"])
        )
    transfer.finish("downloaded")


def objects_below(
    context: CommandContext, place: LakeUri, prefix: str, transfer: Transfer
) -> Iterator[dict[str, Any]]:
    """Yields the objects below a prefix, each after its size has been added to the total."""
    pages = context.connection.pages(
        *("repositories", place.repository, "refs", place.ref, "objects", "ls"),
        prefix=prefix or None,
    )
    for item in pages:
        length = item.get("size_bytes", 0)
        # other systems write these objects to mark an empty folder
        if item["path"].endswith("/") and not length:
            continue
        transfer.expect(length)
        yield item
