"""`image pull`: all objects of an image into a folder, compared with their checksums."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anabranch.cli.call import Call
from anabranch.cli.cells import printable, size
from anabranch.cli.fs.download import objects_below
from anabranch.cli.fs.saving import is_saved, local_path, resume
from anabranch.cli.fs.transfer import Transfer
from anabranch.cli.progress import progress
from anabranch.cli.table import Column
from anabranch.model.image import PINNED
from anabranch.model.uri import IMAGES, LakeUri
from anabranch.pipelines.exports.checksums import md5_of

__all__ = ["run"]

_COLUMNS = (Column("PATH", "name"), Column("SIZE", "size"), Column("STATE"), Column("FILE"))


def run(call: Call) -> None:
    """Downloads what is not in the folder yet."""
    given = call.arguments
    # an image that was removed and built anew in the meantime would be another
    commit = call.connection.get("images", given.tag)["commit_id"]
    place, folder = LakeUri(IMAGES, commit), Path(given.dir)
    folder.mkdir(parents=True, exist_ok=True)
    with progress(call.output, "Downloading") as bar:
        transfer = Transfer(bar)
        made = transfer.each(
            objects_below(call, place, "", transfer),
            lambda item: _fetch(call, place, item, folder, transfer),
            workers=given.parallelism,
            path=lambda item: str(item["path"]),
        )
        if call.output.terminal:
            call.output.line(_told(list(made), folder))
        else:
            call.output.rows(
                _COLUMNS,
                made,
                lambda item: (item["path"], item["size_bytes"], item["state"], item["file"]),
            )
        transfer.finish("downloaded")


def _fetch(
    call: Call, place: LakeUri, item: dict[str, Any], folder: Path, transfer: Transfer
) -> dict[str, Any]:
    """Returns what became of an object: `kept` as it was there, or `downloaded`; or, where its
    checksum says nothing of its bytes, `unverified`: their number is right.
    """
    key, length = item["path"], item.get("size_bytes", 0)
    # the server compares the ETag of what lies in a bucket, which need be no MD5
    is_pinned = PINNED in (item.get("metadata") or {})
    md5 = None if is_pinned else md5_of(item["checksum"])
    file = local_path(folder, key)
    if md5 is not None and is_saved(file, length, md5):
        transfer.advance(length)
        return {"path": key, "size_bytes": length, "file": str(file), "state": "kept"}
    made = resume(call, place, key, file, length, md5, transfer)
    return {**made, "state": "unverified" if md5 is None else "downloaded"}


def _told(made: list[dict[str, Any]], folder: Path) -> str:
    sizes = [item["size_bytes"] for item in made if item["state"] != "kept"]
    kept = len(made) - len(sizes)
    there = f"; {kept} were there" if kept else ""
    return (
        f"Downloaded {len(sizes)} objects into {printable(str(folder))}, {size(sum(sizes))}{there}"
    )
