"""Inspection of the journals in a store's folder: blocks that a crash would lose, or has lost.

It only reads. The segments of running processes change meanwhile, so damage counts if it is found
in several looks.
"""

from __future__ import annotations

import hashlib
import os
import time
from typing import NamedTuple

from anabranch.blocks.local.journal.record_format import Damage, read_records
from anabranch.blocks.local.journal.recovery import DAMAGED
from anabranch.blocks.local.journal.segment import SUFFIX, parse_identity
from anabranch.blocks.local.paths import TEMPORARY

__all__ = ["JournalDamage", "inspect_journals"]

_LOOKS = 3
_BETWEEN_SECONDS = 0.05


class JournalDamage(NamedTuple):
    """A damaged record: the segment's name, the position in bytes, and the path of its block,
    relative to the store's folder, empty if it cannot be read. A `kept` segment is one whose
    recovery has lost the block.
    """

    segment: str
    position: int
    block: str
    kept: bool


def inspect_journals(root: str) -> list[JournalDamage]:
    """Returns what is damaged in the journals of the store in the folder `root`. Raises OSError."""
    folder = f"{root}/{TEMPORARY}/journals"
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        kept = name.endswith(SUFFIX + DAMAGED)
        if parse_identity(name.removesuffix(DAMAGED)) is None:
            continue
        damaged = _damage(f"{folder}/{name}")
        for _ in range(_LOOKS - 1):
            if damaged:
                time.sleep(_BETWEEN_SECONDS)
                damaged &= _damage(f"{folder}/{name}")
        lost = [each for each in sorted(damaged) if not _is_whole(root, each)]
        if kept and not damaged:  # another file had the name of a block
            lost = [Damage(0, "", b"")]
        found += [JournalDamage(name, each.position, each.path, kept) for each in lost]
    return found


def _is_whole(root: str, damage: Damage) -> bool:
    """Returns whether the file of a block is whole although the block's record is damaged."""
    if not damage.path:
        return False
    try:
        with open(f"{root}/{damage.path}", "rb") as file:
            return hashlib.file_digest(file, _md5).digest() == damage.digest
    except OSError:
        return False


def _md5() -> hashlib._Hash:
    return hashlib.md5(usedforsecurity=False)


def _damage(path: str) -> set[Damage]:
    identity = parse_identity(path.removesuffix(DAMAGED))
    try:
        with open(path, "rb") as file:
            return set(read_records(file.read(), identity or b"").damaged)
    except FileNotFoundError:
        return set()  # recovered, or removed by its process
