"""A restore of a backup to a new place: tables and objects first, references last.

Not restored is what was going on: multipart uploads, sweeps with their tombstones, pins, runs of
hooks, and what waited to be sent. A mark is written first, so that a restore that was killed can be
repeated, and it goes with the last write, which makes the repositories exist.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AlreadyExists, Corrupt, Invalid, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, StoreSnapshot, Write
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.backups.area_files import Direction, copy_area_files
from anabranch.pipelines.backups.manifest import Manifest
from anabranch.pipelines.backups.namespaces import mark_namespaces, require_own_namespaces
from anabranch.pipelines.backups.object_copies import ObjectCopies
from anabranch.pipelines.backups.opened_backup import OpenedBackup, open_backup
from anabranch.pipelines.backups.reference_files import (
    AREAS,
    FILES,
    KEYS,
    REQUIRED,
    StoredRow,
)
from anabranch.pipelines.backups.running_work import excluding
from anabranch.pipelines.backups.table_copies import Place, copy_tables
from anabranch.pipelines.backups.target import BackupTarget
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.pipelines.verification.inspected import Inspected, is_staging_area
from anabranch.pipelines.verification.stores.object_sources import ObjectSources
from anabranch.versioning.records import keys, references
from anabranch.versioning.repositories.deleted import DELETED_REPOSITORIES
from anabranch.versioning.repositories.repositories import forget_deletion

__all__ = ["NewStores", "Restore", "Restored"]

_MARK = Write("anabranch-restore", b"backup", b"")
_LEFT_OUT = (
    keys.UPLOADS,
    keys.FINISHED_UPLOADS,
    "anabranch-outbox",
    "anabranch-pins",
    "anabranch-post-hooks",
    "anabranch-running-actions",
    "anabranch-sweeps",
    DELETED_REPOSITORIES,
    "kv-internal-metadata",
    _MARK.partition,
    AREAS,
    FILES,
    KEYS,
    REQUIRED,
)
_LEFT_OUT_PREFIXES = ("anabranch-sweeps/", "multiparts-parts:")
_BATCH = 500
_DAMAGED_HINT = "Restore another backup. `anabranch backup verify` says all that is wrong."


class Restored(NamedTuple):
    """What a restore has written."""

    manifest: Manifest
    repositories: list[str]
    rows: int
    tables: int
    objects: int
    keys: Mapping[str, bytes]


class NewStores(NamedTuple):
    """The stores of a new installation. `keyvalue` is that which the server's code wraps, so that
    what is written is not recorded as operations; `snapshot` opens its keys of one moment.
    """

    keyvalue: KeyValueStore
    blocks: BlockStore
    snapshot: Callable[[], AbstractContextManager[StoreSnapshot]]


class Restore:
    """Restores backups of a target to the stores of a new installation."""

    def __init__(
        self,
        stores: NewStores,
        target: BackupTarget,
        clock: Callable[[], float],
        progress: Progress = NO_PROGRESS,
    ) -> None:
        self._stores = stores
        self._target = target
        self._clock = clock
        self._progress = progress
        self._keyvalue = stores.keyvalue

    def run(self, manifest: Manifest, *, repository: str = "", objects: bool) -> Restored:
        """Restores a backup, or a repository of it, and returns what was written. Raises
        AlreadyExists if something is there already, NotFound for a repository that the backup does
        not have, Invalid for `objects` of a backup that has none, Corrupt for a damaged one.
        """
        if objects and not manifest.objects:
            raise Invalid(f"the backup {manifest.id} has no objects", kind="backup_without_objects")
        self._progress.begin("reading references", 0)
        with (
            excluding(self._target, alone=False),
            open_backup(self._target, manifest, self._progress) as opened,
        ):
            inspected = opened.inspected
            chosen = _choose(inspected, repository)
            self._require_empty(manifest, chosen, alone=bool(repository))
            self._keep_areas(inspected, chosen)
            mark_namespaces(self._stores.blocks, chosen)
            tables = self._copy_tables(inspected, chosen)
            copied = 0
            if objects:
                copied = self._copy_objects(opened.sources_of(chosen), opened.folder)
                copied += self._copy_areas(opened, chosen)
            self._write_files(inspected, chosen)
            rows = self._write_rows(inspected, chosen, alone=bool(repository))
            found = dict(inspected.store.scan(KEYS))
        key_files = {} if repository else {name.decode(): text for name, text in found.items()}
        return Restored(manifest, [each.id for each in chosen], rows, tables, copied, key_files)

    def _require_empty(self, manifest: Manifest, chosen: list[Repository], *, alone: bool) -> None:
        """Raises AlreadyExists unless the installation is new, or, for a repository alone, has none
        of its name; writes the mark of this restore.
        """
        for each in chosen:
            if self._keyvalue.get(keys.GRAVELER, keys.repository(each.id)) is not None:
                raise AlreadyExists(
                    f"there is a repository {each.id} already", kind="repository_already_exists"
                )
        require_own_namespaces(self._keyvalue, chosen, self._clock)
        mark = self._keyvalue.get(_MARK.partition, _MARK.key)
        if mark not in {None, manifest.id.encode()}:
            raise AlreadyExists(
                f"a restore of {mark!r} has begun here and has not ended",
                kind="installation_not_empty",
                hint="Repeat that one, or restore to another place.",
            )
        if mark is None and not alone:
            with self._stores.snapshot() as snapshot:
                own = {b"kv-internal-metadata"}
                if {each.partition for each in snapshot.partitions()} - own:
                    raise AlreadyExists(
                        "there is an installation already",
                        kind="installation_not_empty",
                        hint="Restore to a new data folder or an empty database.",
                    )
        self._keyvalue.apply([_MARK._replace(value=manifest.id.encode())])

    def _copy_tables(self, inspected: Inspected, chosen: list[Repository]) -> int:
        tables = 0
        for repository in chosen:
            trees = {
                commit.metarange_id: commit.id
                for _, commit in inspected.commits(repository)
                if commit.metarange_id
            }
            prefix = f"{repository.storage_namespace.rstrip('/')}/_lakefs/"
            present = {
                info.address.removeprefix(prefix) for info in self._stores.blocks.list(prefix)
            }
            copied = copy_tables(
                Place(self._target.blocks, self._target.repository(repository)),
                Place(self._stores.blocks, repository),
                trees,
                present,
                self._progress,
            )
            if copied.problems:
                raise Corrupt(
                    f"the backup is damaged: {copied.problems[0]}",
                    hint=_DAMAGED_HINT,
                )
            tables += copied.tables
        return tables

    def _copy_objects(self, sources: ObjectSources, folder: Path) -> int:
        own = folder / "objects"
        own.mkdir()
        copies = ObjectCopies(self._target, sources, self._stores.blocks, own, self._progress)
        objects = 0
        for copied in copies.to_installation():
            self._progress.advance(1)
            if copied.size is None:
                raise Corrupt(
                    f"the backup is damaged: {copied.probe.address} is missing",
                    hint=_DAMAGED_HINT,
                )
            objects += 1
        return objects

    def _copy_areas(self, opened: OpenedBackup, chosen: list[Repository]) -> int:
        """Copies the files of tables of the Iceberg catalog."""
        direction = Direction(self._target, self._stores.blocks, back=True)
        number = 0
        for each in chosen:
            files = opened.area_files(each)
            for file, is_copied in copy_area_files(direction, each, files, self._progress):
                if not is_copied:
                    raise Corrupt(
                        f"the backup is damaged: {self._target.mirrored(file.address)} is missing",
                        hint=_DAMAGED_HINT,
                    )
                number += 1
        return number

    def _keep_areas(self, inspected: Inspected, chosen: list[Repository]) -> None:
        """Takes the staging areas of repositories from the list of what servers remove: they may be
        there since they were left or their repository was deleted.
        """
        tokens = [area.token for area in inspected.areas() if area.repository in chosen]
        for first in range(0, len(tokens), _BATCH):
            self._keyvalue.apply(
                [
                    Write(keys.CLEANUP, token.encode(), None)
                    for token in tokens[first : first + _BATCH]
                ]
            )

    def _write_files(self, inspected: Inspected, chosen: list[Repository]) -> None:
        prefixes = tuple(f"{each.storage_namespace.rstrip('/')}/" for each in chosen)
        for key, value in inspected.store.scan(FILES):
            address = key.decode("utf-8", "surrogateescape")
            if address.startswith(prefixes) and self._stores.blocks.stat(address) is None:
                self._stores.blocks.put(address, [value])

    def _write_rows(self, inspected: Inspected, chosen: list[Repository], *, alone: bool) -> int:
        self._progress.begin("writing references", sum(inspected.rows.values()))
        for each in chosen:
            forget_deletion(self._keyvalue, each, self._clock)
        rows = _rows_of(inspected, chosen) if alone else _all_rows(inspected)
        total = 0
        while batch := list(itertools.islice(rows, _BATCH)):
            self._keyvalue.apply([Write(*row) for row in batch])
            self._progress.advance(len(batch))
            total += len(batch)
        self._keep_areas(inspected, chosen)
        last = [
            Write(keys.GRAVELER, keys.repository(each.id), references.repository_bytes(each))
            for each in chosen
        ]
        expect = [Expect(partition, key, None) for partition, key, _ in last]
        expect += require_own_namespaces(self._keyvalue, chosen, self._clock)
        if not self._keyvalue.apply([*last, _MARK._replace(value=None)], expect):
            raise AlreadyExists(
                "a repository of the backup was created meanwhile, or data were purged",
                kind="repository_already_exists",
                hint="Repeat the restore.",
            )
        return total + len(last)


def _choose(inspected: Inspected, name: str) -> list[Repository]:
    chosen = [each for each in inspected.repositories if name in {"", each.id}]
    if name and not chosen:
        raise NotFound(f"the backup has no repository {name}", kind="repository_not_found")
    return chosen


def _all_rows(inspected: Inspected) -> Iterator[StoredRow]:
    """Yields the rows that are restored, except for the repositories themselves. Staging areas are
    last, so that a verification meanwhile finds what has them.
    """
    partitions = {each.partition for each in inspected.repositories}
    lost = {area.token for each in inspected.deleted for area in inspected.areas_of(each)}
    for partition in sorted(inspected.rows, key=is_staging_area):
        if partition in lost or not _is_restored(inspected, partition):
            continue
        for key, value in inspected.store.scan(partition):
            if partition == keys.GRAVELER and key.startswith(keys.repository("")):
                continue
            if partition not in partitions or not key.startswith(keys.all_uploads()[0]):
                yield StoredRow(partition, key, value)


def _is_restored(inspected: Inspected, partition: str) -> bool:
    """Returns whether a partition is restored: not those of work that was going on, and of
    repositories that were deleted, whose objects are in no backup.
    """
    if partition in _LEFT_OUT or partition.startswith(_LEFT_OUT_PREFIXES):
        return False
    for deleted in (*inspected.in_deletion, *inspected.deleted):
        if partition.rpartition(":")[2] == deleted.partition:
            return False
        in_deletion = deleted.in_deletion and is_staging_area(partition)
        if in_deletion and partition.startswith(f"{deleted.id}-"):
            return False
    return True


def _rows_of(inspected: Inspected, chosen: list[Repository]) -> Iterator[StoredRow]:
    """Yields the rows of some repositories: those in partitions of their own, and their parts of
    others.
    """
    areas = {area.token for area in inspected.areas() if area.repository in chosen}
    for row in _all_rows(inspected):
        for each in chosen:
            own = each.partition in {row.partition, row.partition.rpartition(":")[2]}
            if own or row.partition in areas or _is_part(row, each):
                yield row
                break


def _is_part(row: StoredRow, repository: Repository) -> bool:
    """Returns whether a row of a shared partition is of a repository."""
    if row.partition == keys.ACTIONS:
        return row.key.startswith(keys.repository_actions(repository.id))
    if row.partition == keys.PULLS_BY_BRANCHES:
        return row.key.startswith(keys.pull_by_branches(repository.partition))
    if row.partition == keys.EXPIRING_BRANCHES:
        return f"/{repository.partition}/".encode() in row.key
    return False
