"""What the journals of processes that are no more still hold is brought back.

A journal whose process lives is locked by it. One that nobody holds was left by a crash: every
block that it names is compared with its file, written again where that is missing or is not the
same, and made durable; then the journal goes. All of it may be done again at any time.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
from collections.abc import Iterable
from typing import NamedTuple

from anabranch.blocks.local_folders import LocalFolders, sync_folder
from anabranch.blocks.local_journal_file import identity_of, try_lock
from anabranch.blocks.local_journal_records import Damage, Record, read_records
from anabranch.blocks.local_syncing import sync_files
from anabranch.errors import Invalid

__all__ = ["BroughtBack", "bring_back", "recover"]

_DAMAGED = ".damaged"
_TAKEN = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENXIO})
"""What opening a file for writing raises where something else has its place."""

_log = logging.getLogger(__name__)


class BroughtBack(NamedTuple):
    """The paths of all files that records rely on and that are there now, how many of them had
    to be written, and the blocks that cannot be, since something else has their place.
    """

    files: list[str]
    written: int
    impossible: list[str]


def recover(folder: str, folders: LocalFolders) -> None:
    """Brings back what the journals in a folder hold that nobody else has. Who asks meanwhile
    waits until it is done.

    A journal that is damaged is told of in the log and kept beside, under another name. Raises
    OSError where blocks cannot be written; their journal stays as it is.
    """
    try:
        turn = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        for name in sorted(os.listdir(folder)):
            identity = identity_of(name)
            if identity is not None:
                _recover(f"{folder}/{name}", identity, folders)
    finally:
        os.close(turn)


def bring_back(
    records: Iterable[Record], folders: LocalFolders, *, anew: bool = False
) -> BroughtBack:
    """Writes the blocks of records whose files are not there or not the same, or all of them
    `anew`; syncs nothing. Raises OSError.
    """
    files: list[str] = []
    impossible: list[str] = []
    written = 0
    for path, body in _latest(records).items():
        folder, _, name = path.rpartition("/")
        try:
            file = f"{folders.make(folder)}/{name}"
            if anew or _content(file, len(body) + 1) != body:
                _write_file(file, body)
                written += 1
        except Invalid:
            impossible.append(path)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            impossible.append(path)
        else:
            files.append(file)
    return BroughtBack(files, written, impossible)


def _write_file(path: str, body: bytes) -> None:
    """Writes a file, which loses what it held; syncs nothing. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC
    with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:
        written = file.write(body)
        while written < len(body):
            written += file.write(body[written:])


def _recover(path: str, identity: bytes, folders: LocalFolders) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return  # its process has just removed it
    try:
        if not try_lock(descriptor) or not os.fstat(descriptor).st_nlink:
            return
        with open(descriptor, "rb", closefd=False) as file:
            records, damaged = read_records(file.read(), identity)
        found = bring_back(records, folders)
        whole, lost = _sorted(damaged, folders)
        sync_files([*found.files, *whole], descriptor)
        if found.written:
            _log.warning("%d blocks were brought back that a crash had cut off", found.written)
        for block in found.impossible:
            _log.error("%s: the block %s cannot be brought back", path, block)
        for damage in lost:
            what = damage.path or "a block whose name cannot be read"
            _log.error("%s is damaged at byte %d: %s is lost", path, damage.position, what)
        if lost or found.impossible:
            os.rename(path, path + _DAMAGED)
        else:
            os.unlink(path)
        sync_folder(path.rpartition("/")[0])
    finally:
        os.close(descriptor)


def _latest(records: Iterable[Record]) -> dict[str, bytes]:
    """Returns the bodies of the blocks that records leave behind, by path."""
    left: dict[str, bytes] = {}
    for record in records:
        if record.body is None:
            left.pop(record.path, None)
        else:
            left[record.path] = record.body
    return left


def _sorted(damaged: Iterable[Damage], folders: LocalFolders) -> tuple[list[str], list[Damage]]:
    """Returns the files that are whole though their records are damaged, and the damage that
    has cost a block.
    """
    whole: list[str] = []
    lost: list[Damage] = []
    for damage in damaged:
        folder, _, name = damage.path.rpartition("/")
        try:
            path = f"{folders.path(folder)}/{name}"
        except Invalid:
            path = ""
        content = _content(path, -1) if name and path else None
        if content is not None and _md5(content) == damage.digest:
            whole.append(path)
        else:
            lost.append(damage)
    return whole, lost


def _content(path: str, most: int) -> bytes | None:
    """Returns a file's bytes, or so many of them; None where there is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            return file.read(most)
    except OSError:
        return None


def _md5(body: bytes) -> bytes:
    return hashlib.md5(body, usedforsecurity=False).digest()
