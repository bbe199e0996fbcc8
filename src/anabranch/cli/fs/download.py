"""`fs download`: an object into a file, or all below a path into a folder, streamed.

Content is written beside its file and takes its place when complete, so that a transfer that
breaks leaves the old file as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anabranch.cli.call import Call
from anabranch.cli.cells import printable, size
from anabranch.cli.failure import Failure, Usage
from anabranch.cli.fs.transfer import Transfer
from anabranch.cli.progress import progress
from anabranch.cli.table import Column
from anabranch.model.uri import LakeUri

__all__ = ["local_path", "run"]

_COLUMNS = (Column("PATH", "name"), Column("SIZE", "size"), Column("FILE"))


def run(call: Call) -> None:
    """Downloads what the arguments name."""
    place = call.arguments.place
    with progress(call.output, "Downloading") as bar:
        transfer = Transfer(bar)
        if call.arguments.recursive:
            _download_folder(call, place, transfer)
        else:
            _download_one(call, place, transfer)


def _download_one(call: Call, place: LakeUri, transfer: Transfer) -> None:
    name = place.key.rpartition("/")[2]
    if not name:
        raise Usage(
            f"{place.key!r} names no object" if place.key else "this names no object",
            hint="Add --recursive to download all objects below it.",
        )
    target = call.arguments.file or ""
    file = Path(target or ".")
    if not target or target.endswith("/") or file.is_dir():
        file /= name
    made = _save(call, place, place.key, file, transfer, expected=False)
    call.output.done(f"Downloaded {printable(str(file))}, {size(made['size_bytes'])}", made)


def _download_folder(call: Call, place: LakeUri, transfer: Transfer) -> None:
    folder = Path(call.arguments.file or ".")
    prefix = place.key
    if prefix and not prefix.endswith("/"):
        prefix += "/"

    def save(item: dict[str, Any]) -> dict[str, Any]:
        key = item["path"]
        return _save(call, place, key, local_path(folder, key.removeprefix(prefix)), transfer)

    made = transfer.each(
        _objects(call, place, prefix, transfer),
        save,
        workers=call.arguments.parallelism,
        path=lambda item: str(item["path"]),
    )
    if call.output.terminal:
        sizes = [item["size_bytes"] for item in made]
        call.output.line(
            f"Downloaded {len(sizes)} objects into {printable(str(folder))}, {size(sum(sizes))}"
        )
    else:
        call.output.rows(
            _COLUMNS, made, lambda item: (item["path"], item["size_bytes"], item["file"])
        )
    transfer.finish("downloaded")


def _objects(
    call: Call, place: LakeUri, prefix: str, transfer: Transfer
) -> Iterator[dict[str, Any]]:
    pages = call.connection.pages(
        *("repositories", place.repository, "refs", place.ref, "objects", "ls"),
        prefix=prefix or None,
    )
    for item in pages:
        length = item.get("size_bytes", 0)
        # what other systems write to mark an empty folder
        if item["path"].endswith("/") and not length:
            continue
        transfer.expect(length)
        yield item


def local_path(folder: Path, key: str) -> Path:
    """Returns the file below `folder` that an object's path means; raises Failure for a path that
    no file can have or that leads out of the folder.
    """
    parts = key.split("/")
    if any(part in ("", ".", "..") or "\x00" in part or os.sep in part for part in parts):
        raise Failure(
            f"{printable(key)} cannot be the path of a file",
            kind="unsafe_path",
            hint="Download this object alone, into a file that you name.",
        )
    return folder.joinpath(*parts)


def _save(
    call: Call,
    place: LakeUri,
    key: str,
    file: Path,
    transfer: Transfer,
    *,
    expected: bool = True,
) -> dict[str, Any]:
    if file.exists() and not file.is_file():
        raise Failure(f"{file} is there and is no file", hint="Name another file.")
    file.parent.mkdir(parents=True, exist_ok=True)
    parts = ("repositories", place.repository, "refs", place.ref, "objects")
    partial = file.with_name(f".anabranch-{os.urandom(8).hex()}.part")
    length = 0
    try:
        with call.connection.download(*parts, path=key) as content, partial.open("xb") as out:
            if not expected:
                transfer.expect(content.size or 0)
            for chunk in content.chunks:
                transfer.advance(len(chunk))
                out.write(chunk)
                length += len(chunk)
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)
    return {"path": key, "size_bytes": length, "file": str(file)}
