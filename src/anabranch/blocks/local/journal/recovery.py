"""Recovery of the blocks in the journals of crashed processes.

A running process has locked its segments, so an unlocked one is left from a crash. Each of its
blocks is compared with its file, rewritten if the file is missing or differs, and synced; then the
segment is removed. Recovery is idempotent.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import logging
import os
from collections.abc import Iterable
from typing import NamedTuple

from anabranch.blocks.local.folders import LocalFolders, sync_folder
from anabranch.blocks.local.fsync import sync_files
from anabranch.blocks.local.journal.record_format import Damage, Record, read_records
from anabranch.blocks.local.journal.segment import parse_identity, try_lock
from anabranch.errors import Invalid

__all__ = ["DAMAGED", "RestoredBlocks", "recover", "restore_blocks"]

DAMAGED = ".damaged"
"""Suffix of the names of segments whose recovery has lost blocks."""
_TAKEN = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENXIO})
"""What opening a file for writing raises if its name is not that of a regular file."""

_log = logging.getLogger(__name__)


class RestoredBlocks(NamedTuple):
    """Paths of all files of a segment's blocks, the number of those that were rewritten, and the
    blocks that cannot be restored because something else has their name.
    """

    files: list[str]
    written: int
    blocked: list[str]


def recover(folder: str, folders: LocalFolders) -> None:
    """Restores the blocks of all unlocked segments in a folder. Other processes wait meanwhile.

    A damaged segment is logged and kept under another name. Raises OSError if blocks cannot be
    written; their segment stays unchanged.
    """
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in sorted(os.listdir(folder)):
            identity = parse_identity(name)
            if identity is not None:
                _recover(f"{folder}/{name}", identity, folders)
    finally:
        os.close(lock)


def restore_blocks(
    records: Iterable[Record], folders: LocalFolders, *, rewrite_all: bool = False
) -> RestoredBlocks:
    """Writes the blocks of records whose files are missing or differ, or all with `rewrite_all`.
    Syncs nothing. Raises OSError.
    """
    files: list[str] = []
    blocked: list[str] = []
    written = 0
    for path, body in _live_bodies(records).items():
        folder, _, name = path.rpartition("/")
        try:
            file = f"{folders.make(folder)}/{name}"
            if rewrite_all or _content(file, len(body) + 1) != body:
                _write_file(file, body)
                written += 1
        except Invalid:
            blocked.append(path)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            blocked.append(path)
        else:
            files.append(file)
    return RestoredBlocks(files, written, blocked)


def _write_file(path: str, body: bytes) -> None:
    """Writes a file, replacing its content. Syncs nothing. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_TRUNC
    with open(os.open(path, flags, 0o600), "wb", buffering=0) as file:
        written = file.write(body)
        while written < len(body):
            written += file.write(body[written:])


def _recover(path: str, identity: bytes, folders: LocalFolders) -> None:
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return  # removed by its process meanwhile
    try:
        if not try_lock(descriptor) or not os.fstat(descriptor).st_nlink:
            return
        with open(descriptor, "rb", closefd=False) as file:
            records, damaged = read_records(file.read(), identity)
        restored = restore_blocks(records, folders)
        intact, lost = _classify_damage(damaged, folders)
        sync_files([*restored.files, *intact], descriptor)
        if restored.written:
            _log.warning("%d blocks were restored after a crash", restored.written)
        for block in restored.blocked:
            _log.error("%s: the block %s cannot be restored", path, block)
        for damage in lost:
            block = damage.path or "a block whose name cannot be read"
            _log.error("%s is damaged at byte %d: %s is lost", path, damage.position, block)
        if lost or restored.blocked:
            os.rename(path, path + DAMAGED)
        else:
            os.unlink(path)
        sync_folder(path.rpartition("/")[0])
    finally:
        os.close(descriptor)


def _live_bodies(records: Iterable[Record]) -> dict[str, bytes]:
    """Returns the bodies of the blocks that are not deleted by later records, by path."""
    live: dict[str, bytes] = {}
    for record in records:
        if record.body is None:
            live.pop(record.path, None)
        else:
            live[record.path] = record.body
    return live


def _classify_damage(
    damaged: Iterable[Damage], folders: LocalFolders
) -> tuple[list[str], list[Damage]]:
    """Returns the files that are intact although their records are damaged, and the damage of lost
    blocks.
    """
    intact: list[str] = []
    lost: list[Damage] = []
    for damage in damaged:
        folder, _, name = damage.path.rpartition("/")
        try:
            path = f"{folders.path(folder)}/{name}"
        except Invalid:
            path = ""
        content = _content(path, -1) if name and path else None
        if content is not None and _md5(content) == damage.digest:
            intact.append(path)
        else:
            lost.append(damage)
    return intact, lost


def _content(path: str, limit: int) -> bytes | None:
    """Returns up to `limit` bytes of a file, all for -1; None if it is missing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            return file.read(limit)
    except OSError:
        return None


def _md5(body: bytes) -> bytes:
    return hashlib.md5(body, usedforsecurity=False).digest()
