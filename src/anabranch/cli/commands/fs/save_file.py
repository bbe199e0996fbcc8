"""Saves objects as files, streamed.

Content is written to a temporary file in the same folder, which replaces the target when it is
complete. A transfer that breaks leaves the old file unchanged.
"""

from __future__ import annotations

import hashlib
import os
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from anabranch.cli.commands.fs.transfer import Transfer
from anabranch.cli.errors import Failure
from anabranch.cli.framework.context import CommandContext
from anabranch.cli.output.format import printable
from anabranch.client.rest_client import CHUNK
from anabranch.model.uri import LakeUri

__all__ = ["Expected", "is_saved", "local_path", "resume", "save"]


class Expected(NamedTuple):
    """What is known of an object's content: its size in bytes, and what may be its hex MD5, None if
    nothing may. Content with another MD5 is damaged only if `proved`.
    """

    size: int
    md5: str | None
    proved: bool


def local_path(folder: Path, key: str) -> Path:
    """Returns the path of the file for an object's path below `folder`. Raises Failure for a path
    that is not a valid file name or that leads out of the folder.
    """
    parts = key.split("/")
    if any(part in ("", ".", "..") or "\x00" in part or os.sep in part for part in parts):
        raise Failure(
            f"{printable(key)} is not a valid path of a file",
            kind="unsafe_path",
            hint="Download this object alone, into a file that you name.",
        )
    return folder.joinpath(*parts)


def save(
    context: CommandContext,
    place: LakeUri,
    key: str,
    file: Path,
    transfer: Transfer,
    *,
    expected: bool = True,
) -> dict[str, Any]:
    """Saves an object and returns its path, size and file. An existing file is replaced. Unless
    `expected`, the object's size is added to the progress.
    """
    _make_room(file)
    partial = file.with_name(f".anabranch-{os.urandom(8).hex()}.part")
    parts = ("repositories", place.repository, "refs", place.ref, "objects")
    length = 0
    try:
        with context.connection.download(*parts, path=key) as content, partial.open("xb") as out:
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


def resume(
    context: CommandContext,
    place: LakeUri,
    key: str,
    file: Path,
    expected: Expected,
    transfer: Transfer,
) -> tuple[dict[str, Any], bool]:
    """Saves an object that never changes, as `save` does, and resumes a transfer that broke off
    earlier. Also returns whether the content has the expected MD5. Partial content is deleted if
    the object is gone. Raises Failure if the content received has another size, or not the MD5
    that it is proved to have.
    """
    _make_room(file)
    size, md5, proved = expected
    name = hashlib.sha256(f"{key}\0{size}\0{md5}\0{place}".encode()).hexdigest()[:32]
    partial = file.with_name(f".anabranch-{name}.part")
    parts = ("repositories", place.repository, "refs", place.ref, "objects")
    try:
        with partial.open("a+b") as out:
            digest, length = _had(out, transfer)
            if length < size or size == 0:
                with context.connection.download(*parts, start=length, path=key) as content:
                    if content.start != length:
                        transfer.advance(-length)
                        out.truncate(0)
                        digest, length = _md5(), 0
                    for chunk in content.chunks:
                        transfer.advance(len(chunk))
                        out.write(chunk)
                        digest.update(chunk)
                        length += len(chunk)
    except Failure as failure:
        if failure.status == HTTPStatus.GONE or not partial.stat().st_size:
            partial.unlink()
        raise
    verified = digest.hexdigest() == md5
    if length != size or (proved and not verified):
        partial.unlink()
        raise Failure(
            f"{printable(key)}: {length} bytes with the MD5 {digest.hexdigest()} were received, "
            f"{size} bytes with {md5 if proved else 'any'} were expected",
            kind="corrupt",
            hint="Try again; if that does not help, the object is damaged in its store.",
        )
    partial.replace(file)
    return {"path": key, "size_bytes": length, "file": str(file)}, verified


def is_saved(file: Path, size: int, md5: str) -> bool:
    """Returns whether a file exists with this size, in bytes, and this MD5."""
    if not file.is_file() or file.stat().st_size != size:
        return False
    with file.open("rb") as existing:
        return hashlib.file_digest(existing, _md5).hexdigest() == md5


def _md5() -> Any:
    return hashlib.md5(usedforsecurity=False)


def _had(out: BinaryIO, transfer: Transfer) -> tuple[Any, int]:
    """Returns the digest and the length of the content that a file already has."""
    digest, length = _md5(), 0
    out.seek(0)
    while chunk := out.read(CHUNK):
        digest.update(chunk)
        length += len(chunk)
        transfer.advance(len(chunk))
    return digest, length


def _make_room(file: Path) -> None:
    if file.exists() and not file.is_file():
        raise Failure(f"{file} exists and is not a file", hint="Name another file.")
    file.parent.mkdir(parents=True, exist_ok=True)
