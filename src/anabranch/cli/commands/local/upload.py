"""Sends the local changes of a folder to a branch, as uncommitted changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from anabranch.cli.commands.fs.transfer import Transfer
from anabranch.cli.commands.local.link import Link
from anabranch.cli.commands.local.trees import MTIME, Entry, Tree
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.transfer_progress import progress
from anabranch.client.rest_client import CHUNK

__all__ = ["send_changes"]

_INTERNAL_METADATA = "x-lakefs-internal-"
_BATCH = 1000


def send_changes(
    context: CommandContext, link: Link, files: Tree, paths: Iterable[str], *, branch: str
) -> None:
    """Uploads the files of some paths to a branch, and removes the objects of those without a
    file. Raises Failure if any could not be sent.
    """
    wanted = list(paths)
    segments = ("repositories", link.source.repository, "branches", branch, "objects")
    gone = [link.prefix + path for path in wanted if path not in files]
    for start in range(0, len(gone), _BATCH):
        keys = gone[start : start + _BATCH]
        answer = context.connection.send("POST", *segments, "delete", body={"paths": keys})
        if errors := (answer or {}).get("errors"):
            raise Failure(
                errors[0]["message"],
                kind="not_removed",
                status=errors[0].get("status_code", 0),
                paths=[error["path"] for error in errors],
            )
    with progress(context.output, "Uploading") as bar:
        transfer = Transfer(bar)
        sent = [path for path in wanted if path in files]
        transfer.expect(sum(files[path].size for path in sent))
        done = transfer.each(
            sent,
            lambda path: _send(context, link, path, files[path], transfer, segments),
            workers=context.arguments.parallelism,
            path=str,
        )
        for _ in done:
            pass
    transfer.finish("uploaded")


def _send(
    context: CommandContext,
    link: Link,
    path: str,
    entry: Entry,
    transfer: Transfer,
    segments: tuple[str, ...],
) -> Any:
    return context.connection.upload(
        *segments,
        content=_content(link, path, transfer),
        size=entry.size,
        content_type="application/octet-stream",
        metadata={_INTERNAL_METADATA + MTIME.removeprefix("::lakefs::"): str(entry.mtime)},
        repeatable=True,
        path=link.prefix + path,
    )


def _content(link: Link, path: str, transfer: Transfer) -> Callable[[], Iterator[bytes]]:
    def chunks() -> Iterator[bytes]:
        with (link.folder / path).open("rb") as source:
            while chunk := source.read(CHUNK):
                transfer.advance(len(chunk))
                yield chunk

    return chunks
