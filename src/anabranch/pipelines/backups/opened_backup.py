"""The references of a backup, opened like those of an installation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from anabranch import _kernel as kernel
from anabranch.blocks.cache.table_cache import TableCache
from anabranch.files.work_folders import WorkFolder
from anabranch.keyvalue.sqlite.snapshot import SQLiteSnapshot
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import areas_folder
from anabranch.pipelines.backups.area_files import AreaFile
from anabranch.pipelines.backups.manifest import Manifest
from anabranch.pipelines.backups.reference_files import AREAS, REQUIRED, read_rows, write_store
from anabranch.pipelines.backups.target import BackupTarget
from anabranch.pipelines.jobs.progress import Progress
from anabranch.pipelines.verification.inspected import Inspected
from anabranch.pipelines.verification.stores.object_sources import ObjectSources, read_sources

__all__ = ["OpenedBackup", "open_backup"]

_CACHE_BYTES = 1 << 30


class OpenedBackup(NamedTuple):
    """The references of a backup, what its objects are needed for, and a folder for files."""

    inspected: Inspected
    sources: ObjectSources
    folder: Path

    def sources_of(self, repositories: Sequence[Repository]) -> ObjectSources:
        """Returns the sources of some repositories."""
        partitions = {each.partition for each in repositories}
        return self.sources._replace(
            repositories=[
                each
                for each in self.sources.repositories
                if each.repository.partition in partitions
            ],
            areas=[area for area in self.sources.areas if area.repository.partition in partitions],
        )

    def area_files(self, repository: Repository) -> Iterator[AreaFile]:
        """Yields the files of a repository's tables of the Iceberg catalog."""
        start = f"{areas_folder(repository)}/".encode("utf-8", "surrogateescape")
        for key, size in self.inspected.store.scan(AREAS, start, upper_bound(start)):
            yield AreaFile(key.decode("utf-8", "surrogateescape"), int(size))


@contextmanager
def open_backup(
    target: BackupTarget, manifest: Manifest, progress: Progress
) -> Iterator[OpenedBackup]:
    """Yields a backup. Raises Gone for a missing file, Corrupt for a damaged one."""
    with WorkFolder("backup") as name:
        folder = Path(name)
        write_store(folder / "references.db", read_rows(target, manifest))
        tables = TableCache(
            target.blocks, folder / "cache", _CACHE_BYTES, verify=kernel.verify_table
        )
        with closing(SQLiteSnapshot(folder / "references.db")) as snapshot:
            inspected = Inspected(snapshot, tables, lambda: manifest.created_at, 0)
            required: dict[str, set[str]] = {}
            for key, _ in inspected.store.scan(REQUIRED):
                partition, _, tree = key.decode().rpartition("/")
                required.setdefault(partition, set()).add(tree)
            sources = read_sources(inspected, folder / "areas", progress, required)
            yield OpenedBackup(inspected, sources, folder)
