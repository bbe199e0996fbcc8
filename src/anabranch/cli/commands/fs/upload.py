"""`fs upload`: uploads a file, a folder or standard input, streamed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from anabranch.cli.commands.fs.stat import object_details
from anabranch.cli.commands.fs.transfer import Transfer
from anabranch.cli.errors import Failure, Usage
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable, size
from anabranch.cli.output.table import Column
from anabranch.cli.output.transfer_progress import progress
from anabranch.client.rest_client import CHUNK

__all__ = ["run"]

_COLUMNS = (Column("PATH", "name"), Column("SIZE", "size"), Column("CHECKSUM"))


class _File(NamedTuple):
    key: str
    path: Path


def run(context: CommandContext) -> None:
    """Uploads the source that the options name."""
    options = context.arguments
    _check_type(options.content_type)
    with progress(context.output, "Uploading") as bar:
        transfer = Transfer(bar)
        if options.recursive:
            _upload_folder(context, transfer)
        elif options.source == "-":
            _upload_input(context, transfer)
        else:
            _upload_one(context, transfer)


def _check_type(content_type: str) -> None:
    if content_type.lower().startswith("multipart/"):
        raise Usage("an object cannot have a multipart type", hint="Give the type of its content.")
    if not content_type.isascii() or not content_type.isprintable():
        raise Usage(f"{content_type!r} is not a content type", hint="Write it like text/csv.")


def _upload_one(context: CommandContext, transfer: Transfer) -> None:
    path = Path(context.arguments.source)
    if path.is_dir():
        raise Usage(f"{path} is a folder", hint="Add --recursive to upload all files below it.")
    key = context.arguments.place.key
    if not key or key.endswith("/"):
        key += path.name
    transfer.expect(_length(path))
    _show(context, _upload_file(context, transfer, _File(key, path)))


def _upload_input(context: CommandContext, transfer: Transfer) -> None:
    key = context.arguments.place.key
    if not key or key.endswith("/"):
        raise Usage("standard input has no name", hint="Write the object's whole path.")
    source = sys.stdin.buffer
    _show(context, _send(context, key, lambda: _chunks(source, transfer), None))


def _show(context: CommandContext, item: dict[str, Any]) -> None:
    place = context.arguments.place
    context.output.details(object_details(place.repository, place.ref, item), item)


def _upload_folder(context: CommandContext, transfer: Transfer) -> None:
    options = context.arguments
    folder = Path(options.source)
    if not folder.is_dir():
        raise Usage(f"{folder} is not a folder", hint="Leave out --recursive to upload one file.")
    prefix = options.place.key
    if prefix and not prefix.endswith("/"):
        prefix += "/"
    # all at once: a bar whose total grows with each file is full from the start
    transfer.expect(sum(_length(path) for path, is_file in _walk(folder) if is_file))
    results = transfer.each(
        _files(context, folder, prefix),
        lambda file: _upload_file(context, transfer, file),
        workers=options.parallelism,
        path=lambda file: str(file.path),
    )
    if context.output.terminal:
        sizes = [item["size_bytes"] for item in results]
        context.output.line(f"Uploaded {len(sizes)} objects, {size(sum(sizes))}")
    else:
        context.output.rows(
            _COLUMNS, results, lambda item: (item["path"], item["size_bytes"], item["checksum"])
        )
    transfer.finish("uploaded")


def _files(context: CommandContext, folder: Path, prefix: str) -> Iterator[_File]:
    """Yields the files below a folder, in order. Links to folders, and anything that is neither a
    file nor a folder, are skipped with a note.
    """
    for path, is_file in _walk(folder):
        if is_file:
            yield _File(prefix + "/".join(path.relative_to(folder).parts), path)
        else:
            context.output.note(f"skipped, not a file: {printable(str(path))}")


def _walk(folder: Path) -> Iterator[tuple[Path, bool]]:
    """Yields what is below a folder, but no folders, in order, and whether it is a file."""
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        here = Path(parent)
        links = [name for name in folders if (here / name).is_symlink()]
        for name in sorted([*names, *links]):
            path = here / name
            yield path, path.is_file()


def _length(path: Path) -> int:
    """Returns a file's size in bytes; 0 for what is none, which reading it reports."""
    return path.stat().st_size if path.is_file() else 0


def _raise(error: OSError) -> None:
    raise error


def _upload_file(context: CommandContext, transfer: Transfer, file: _File) -> dict[str, Any]:
    if not file.path.is_file():
        # a named pipe or a device can be read only once, and its size is not known
        with file.path.open("rb") as source:
            return _send(context, file.key, lambda: _chunks(source, transfer), None)
    length = file.path.stat().st_size

    def content() -> Iterator[bytes]:
        with file.path.open("rb") as source:
            yield from _chunks(source, transfer)

    return _send(context, file.key, content, length)


def _chunks(source: BinaryIO, transfer: Transfer) -> Iterator[bytes]:
    while chunk := source.read(CHUNK):
        transfer.advance(len(chunk))
        yield chunk


def _send(context: CommandContext, key: str, content: Any, length: int | None) -> dict[str, Any]:
    try:
        key.encode()
    except UnicodeEncodeError:
        raise Failure(
            f"{printable(key)} is not UTF-8, so it cannot name an object",
            hint="Rename the file.",
        ) from None
    place = context.arguments.place
    item: dict[str, Any] = context.connection.upload(
        *("repositories", place.repository, "branches", place.ref, "objects"),
        content=content,
        size=length,
        content_type=context.arguments.content_type,
        repeatable=length is not None,
        path=key,
    )
    return item
