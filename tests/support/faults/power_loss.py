"""A loss of power, as far as a local store's folder is concerned.

What the system had not written to the disk is lost then. The journals in the folder tell whose
files that may be; `lose_power` does to them what a file system may have left.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from anabranch.blocks.local.journal.record_format import read_records
from anabranch.blocks.local.journal.segment import parse_identity, try_lock
from anabranch.blocks.local.paths import TEMPORARY

__all__ = ["is_held", "journals", "lose_power", "unsynced"]


def journals(root: Path) -> list[Path]:
    """Returns the files of the journals in a store's folder."""
    folder = root / TEMPORARY / "journals"
    return sorted(folder.iterdir()) if folder.exists() else []


def is_held(journal: Path) -> bool:
    """Returns whether the process of a journal lives, and has it open."""
    descriptor = os.open(journal, os.O_RDWR)
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def unsynced(root: Path) -> set[str]:
    """Returns the paths of blocks whose files may not have been synced when their process ended,
    as the journals say that nobody holds.
    """
    paths: set[str] = set()
    for journal in journals(root):
        if is_held(journal):
            continue
        identity = parse_identity(journal.name)
        assert identity is not None
        paths |= {record.path for record in read_records(journal.read_bytes(), identity).records}
    return paths


def lose_power(root: Path, chance: random.Random) -> int:
    """Does to files that were not synced what a loss of power may do; returns to how many."""
    done = 0
    for path in sorted(unsynced(root)):
        file = root / path
        fate = chance.choice(["kept", "lost", "empty", "short", "zeros"])
        if fate == "kept" or not file.exists():
            continue
        done += 1
        size = file.stat().st_size
        if fate == "lost":
            file.unlink()
        elif fate == "empty":
            file.write_bytes(b"")
        elif fate == "short":
            file.write_bytes(file.read_bytes()[: size // 2])
        else:
            file.write_bytes(bytes(size))
    return done
