"""A backup: the references of one moment, all tables that their commits have, and the objects that
they need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from anabranch.errors import Busy, Conflict, Gone
from anabranch.files.work_folders import WorkFolder
from anabranch.pipelines.backups.area_files import (
    AreaFile,
    Direction,
    area_files,
    copy_area_files,
)
from anabranch.pipelines.backups.kept_objects import (
    PinnedCommits,
    keeping_objects,
    required_commits,
)
from anabranch.pipelines.backups.manifest import Manifest, ReferenceFile, new_id
from anabranch.pipelines.backups.namespaces import may_be_purged
from anabranch.pipelines.backups.object_copies import ObjectCopies
from anabranch.pipelines.backups.reference_files import (
    AREAS,
    FILES,
    KEYS,
    REQUIRED,
    write_rows,
)
from anabranch.pipelines.backups.running_work import RunningWork, excluding
from anabranch.pipelines.backups.table_copies import Place, copy_tables
from anabranch.pipelines.backups.target import BackupTarget
from anabranch.pipelines.jobs.progress import NO_PROGRESS, Progress
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.stores.entries import EntryReader
from anabranch.pipelines.verification.stores.live_needs import LiveNeeds
from anabranch.pipelines.verification.stores.object_sources import ObjectSources, read_sources
from anabranch.pipelines.verification.verification import VerifiedStores
from anabranch.versioning.garbage.stored_rules import rules_address

__all__ = ["Backup"]

_MAX_ATTEMPTS = 10
_MAX_PROBLEMS = 1000


class _Outdated(Exception):
    """An object that was needed is gone with its last reference: the references are read anew."""


class _Read(NamedTuple):
    """What was read of the references of one moment."""

    backup: str
    moment: float
    files: list[ReferenceFile]
    sources: ObjectSources
    commits: PinnedCommits


class Backup:
    """Makes backups of an installation. `keys` are the key files of a data folder, by name; `clock`
    returns seconds since 1970.
    """

    def __init__(
        self,
        stores: VerifiedStores,
        target: BackupTarget,
        clock: Callable[[], float],
        *,
        keys: Mapping[str, bytes],
        progress: Progress = NO_PROGRESS,
    ) -> None:
        self._stores = stores
        self._target = target
        self._clock = clock
        self._keys = keys
        self._progress = progress
        self._live = LiveNeeds(stores.core)

    def make(self, *, objects: bool) -> Manifest:
        """Makes a backup and returns its manifest. Raises Busy while the target is pruned, and if
        references change faster than objects are copied; the errors of stores.
        """
        with excluding(self._target, alone=False) as work:
            for _ in range(_MAX_ATTEMPTS):
                with WorkFolder("backup") as folder:
                    try:
                        return self._attempt(Path(folder), work, objects=objects)
                    except _Outdated:
                        continue
        raise Busy("objects are removed faster than they can be copied")

    def _attempt(self, folder: Path, work: RunningWork, *, objects: bool) -> Manifest:
        read = self._read(folder)
        size = tables = 0
        problems: list[str] = []
        pruned = self._target.blocks.stat(self._target.pruning_mark) is not None
        for repository, trees, _ in read.sources.repositories:
            mirrored = self._target.repository(repository)
            copied = copy_tables(
                Place(self._stores.blocks, repository),
                Place(self._target.blocks, mirrored),
                trees,
                self._target.tables(repository),
                self._progress,
                examine_all=pruned,
            )
            if copied.problems and not self._live.has_repository(repository):
                raise _Outdated
            tables, size = tables + copied.tables, size + copied.size
            problems += copied.problems
        copied_objects = 0
        if objects:
            copied_objects, of_objects = self._copy_objects(read, folder, problems)
            size += of_objects
        manifest = Manifest(
            id=read.backup,
            created_at=read.moment,
            objects=objects,
            files=read.files,
            repositories=[each.repository.id for each in read.sources.repositories],
            copied_tables=tables,
            copied_objects=copied_objects,
            copied_bytes=size,
            problems=problems[:_MAX_PROBLEMS],
        )
        work.require()
        self._target.publish(manifest)
        return manifest

    def _read(self, folder: Path) -> _Read:
        self._progress.begin("reading references", 0)
        moment = self._clock()
        backup = new_id(moment)
        stores = self._stores
        with stores.snapshot() as snapshot:
            inspected = Inspected(snapshot, stores.tables, self._clock, stores.undo_days)
            sources = read_sources(inspected, folder / "areas", self._progress)
            files = {
                FILES: dict(self._rules(inspected)),
                KEYS: {name.encode(): content for name, content in self._keys.items()},
                REQUIRED: {
                    f"{each.repository.partition}/{tree}".encode(): b""
                    for each in sources.repositories
                    for tree in each.required
                },
            }
            written = write_rows(self._target, backup, snapshot, files)
            commits = required_commits(inspected, sources)
        return _Read(backup, moment, written, sources, commits)

    def _rules(self, inspected: Inspected) -> list[tuple[bytes, bytes]]:
        """Returns the rules of garbage collection, which are files of the store, by address."""
        found = []
        for repository in inspected.repositories:
            address = rules_address(repository)
            try:
                found.append((address.encode(), self._stores.blocks.read(address)))
            except Gone:
                continue  # it has none
        return found

    def _copy_areas(self, read: _Read) -> tuple[int, int]:
        """Copies the files of tables of the Iceberg catalog, and records them in the backup. Files
        are stored before references to them, and kept as objects are, so those of its moment are
        there.
        """
        direction = Direction(self._target, self._stores.blocks, back=False)
        recorded: dict[bytes, bytes] = {}
        number = size = 0
        for repository, _, _ in read.sources.repositories:
            listed: list[AreaFile] = list(area_files(self._stores.blocks, repository))
            for each in listed:
                recorded[each.address.encode("utf-8", "surrogateescape")] = b"%d" % each.size
            for file, is_copied in copy_area_files(direction, repository, listed, self._progress):
                number, size = number + is_copied, size + file.size * is_copied
                if not is_copied:
                    # nothing needs it: what a failed commit of a table has left, which it removes,
                    # or what garbage collection has removed meanwhile
                    del recorded[file.address.encode("utf-8", "surrogateescape")]
            if may_be_purged(self._stores.core, repository):
                raise _Outdated  # some may have been removed before they were listed
        read.files.extend(
            write_rows(
                *(self._target, read.backup, None),
                {AREAS: recorded},
                first=len(read.files),
            )
        )
        return number, size

    def _copy_objects(self, read: _Read, folder: Path, problems: list[str]) -> tuple[int, int]:
        core = self._stores.core
        reader = EntryReader(self._stores.blocks)
        try:
            with keeping_objects(core, read.backup, read.commits, read.sources, reader):
                entries = self._copy_kept_objects(read.sources, folder, problems)
                tables = self._copy_areas(read)
                return entries[0] + tables[0], entries[1] + tables[1]
        except Conflict as error:
            raise _Outdated from error

    def _copy_kept_objects(
        self, sources: ObjectSources, folder: Path, problems: list[str]
    ) -> tuple[int, int]:
        own = folder / "objects"
        own.mkdir()
        copies = ObjectCopies(self._target, sources, self._stores.blocks, own, self._progress)
        real = {each.repository.partition: each.repository for each in sources.repositories}
        objects = size = 0
        missing = []
        for copied in copies.to_target():
            self._progress.advance(1)
            if copied.size is None:
                source = copied.probe.source
                repository = real[source.repository.partition]
                missing.append(copied.probe._replace(source=source._replace(repository=repository)))
                continue
            objects += 1
            size += copied.size
        self._live.refresh()
        for probe in missing:
            if not self._live.needs(probe):
                raise _Outdated
            address = self._target.original(probe.address)
            problems.append(
                f"{probe.source.repository.id} {probe.path}: {address} is missing or damaged"
            )
        return objects, size
