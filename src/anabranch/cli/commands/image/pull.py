"""`image pull`: downloads all objects of an image to a folder and verifies their checksums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anabranch.cli.commands.fs.download import objects_below
from anabranch.cli.commands.fs.save_file import Expected, is_saved, local_path, resume
from anabranch.cli.commands.fs.transfer import Transfer
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable, size
from anabranch.cli.output.table import Column
from anabranch.cli.output.transfer_progress import progress
from anabranch.model.image import PINNED
from anabranch.model.uri import IMAGES, LakeUri
from anabranch.pipelines.exports.checksums import content_md5, proved_md5

__all__ = ["run"]

_COLUMNS = (Column("PATH", "name"), Column("SIZE", "size"), Column("STATE"), Column("FILE"))


def run(context: CommandContext) -> None:
    """Downloads the objects that the folder does not have."""
    given = context.arguments
    # an image that was removed and rebuilt in the meantime would be another one
    commit = context.connection.get("images", given.tag)["commit_id"]
    place, folder = LakeUri(IMAGES, commit), Path(given.dir)
    folder.mkdir(parents=True, exist_ok=True)
    with progress(context.output, "Downloading") as bar:
        transfer = Transfer(bar)
        files = transfer.each(
            objects_below(context, place, "", transfer),
            lambda item: _fetch(context, place, item, folder, transfer),
            workers=given.parallelism,
            path=lambda item: str(item["path"]),
        )
        if context.output.terminal:
            context.output.line(_progress_text(list(files), folder))
        else:
            context.output.rows(
                _COLUMNS,
                files,
                lambda item: (item["path"], item["size_bytes"], item["state"], item["file"]),
            )
        transfer.finish("downloaded")


def _fetch(
    context: CommandContext, place: LakeUri, item: dict[str, Any], folder: Path, transfer: Transfer
) -> dict[str, Any]:
    """Returns the state of an object: `kept` if its file was correct already, `downloaded`, or
    `unverified` if only its size could be compared: the content does not have the MD5 in the
    object's checksum, and nothing proves that the checksum is an MD5.
    """
    key, length = item["path"], item.get("size_bytes", 0)
    # the server compares the ETag of objects in a bucket, which need not be an MD5
    is_pinned = PINNED in (item.get("metadata") or {})
    md5 = None if is_pinned else content_md5(item["checksum"])
    proved = md5 is not None and proved_md5(item["checksum"], item["physical_address"]) == md5
    file = local_path(folder, key)
    if md5 is not None and is_saved(file, length, md5):
        transfer.advance(length)
        return {"path": key, "size_bytes": length, "file": str(file), "state": "kept"}
    expected = Expected(length, md5, proved)
    saved, verified = resume(context, place, key, file, expected, transfer)
    return {**saved, "state": "downloaded" if verified else "unverified"}


def _progress_text(files: list[dict[str, Any]], folder: Path) -> str:
    sizes = [item["size_bytes"] for item in files if item["state"] != "kept"]
    kept = len(files) - len(sizes)
    text = f"Downloaded {len(sizes)} objects into {printable(str(folder))}, {size(sum(sizes))}"
    return f"{text}; {kept} existed" if kept else text
