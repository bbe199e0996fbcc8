"""Pruning of a target: backups that are not kept any more, and the tables and objects that no kept
backup needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from anabranch.blocks.contract import BlockInfo
from anabranch.blocks.table_addresses import table_address
from anabranch.files.work_folders import WorkFolder
from anabranch.pipelines.backups.manifest import Manifest
from anabranch.pipelines.backups.object_copies import ObjectCopies
from anabranch.pipelines.backups.opened_backup import OpenedBackup, open_backup
from anabranch.pipelines.backups.running_work import RunningWork, excluding
from anabranch.pipelines.backups.target import BackupTarget
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.pipelines.verification.stores.local_looks import LocalLooks
from anabranch.pipelines.verification.stores.ranges import Ranges

__all__ = ["Pruned", "prune"]

_BATCH = 1000


class Pruned(NamedTuple):
    """The ids of the removed backups, of those that were kept, and what was removed with the
    former: tables and objects, and their bytes.
    """

    removed: list[str]
    kept: list[str]
    blocks: int
    size: int


def prune(
    target: BackupTarget,
    keep: int,
    progress: Progress = NO_PROGRESS,
) -> Pruned:
    """Keeps the last `keep` backups, at least one, and removes the others, and what was left by
    backups that were killed. Memory takes eight bytes for each table and object that is kept.

    Raises Busy while a backup or a restore uses the target, Gone and Corrupt for a kept backup that
    is damaged: nothing that it may need is removed then.
    """
    with excluding(target, alone=True) as work:
        backups = target.backups()
        kept = backups[-max(1, keep) :]
        needed = _needed(target, kept, progress)
        work.require()
        target.blocks.put(target.pruning_mark, [b""])
        removed = [each.id for each in backups[: len(backups) - len(kept)]]
        for backup in (*removed, *target.unfinished()):
            work.require()
            target.remove(backup)
        blocks, size = _remove_others(target, work, needed, progress)
        target.blocks.delete([target.pruning_mark])
    return Pruned(removed, [each.id for each in kept], blocks, size)


def _needed(target: BackupTarget, kept: Sequence[Manifest], progress: Progress) -> Hashes:
    """Returns the sorted hashes of the addresses that kept backups need in the target."""
    pieces: list[Hashes] = []
    for manifest in kept:
        progress.begin(f"reading the backup {manifest.id}", 0)
        with open_backup(target, manifest, progress) as opened:
            tables = _tables(target, opened, progress)
            pieces += [hash_addresses(pa.array(names, pa.string())) for names in tables]
            if manifest.objects:
                areas = _area_files(target, opened)
                pieces += [hash_addresses(pa.array(names, pa.string())) for names in areas]
                with WorkFolder("backup") as folder:
                    copies = ObjectCopies(
                        target, opened.sources, target.blocks, Path(folder), progress
                    )
                    pieces += copies.needed_hashes()
    return distinct(pieces)


def _tables(target: BackupTarget, opened: OpenedBackup, progress: Progress) -> Iterator[list[str]]:
    for repository, trees, _ in opened.sources.repositories:
        mirrored = target.repository(repository)
        ranges = Ranges(mirrored, LocalLooks(target.blocks))
        for finding in ranges.read(trees, set(), progress):
            del finding  # it could not be copied either
        namespace = mirrored.storage_namespace
        yield [table_address(namespace, name) for name in (*trees, *ranges.listed)]


def _area_files(target: BackupTarget, opened: OpenedBackup) -> Iterator[list[str]]:
    for repository, _, _ in opened.sources.repositories:
        yield [target.mirrored(each.address) for each in opened.area_files(repository)]


def _remove_others(
    target: BackupTarget, work: RunningWork, needed: Hashes, progress: Progress
) -> tuple[int, int]:
    progress.begin("removing what no backup needs", 0)
    blocks = size = 0
    stored = target.blocks.list(f"{target.mirror}/")
    while batch := list(itertools.islice(stored, _BATCH)):
        hashes = hash_addresses(pa.array([info.address for info in batch], pa.string()))
        unneeded: list[BlockInfo] = [
            batch[position] for position in np.flatnonzero(~is_in(hashes, needed)).tolist()
        ]
        work.require()
        target.blocks.delete([info.address for info in unneeded])
        blocks += len(unneeded)
        size += sum(info.size for info in unneeded)
        progress.advance(len(batch))
    return blocks, size
