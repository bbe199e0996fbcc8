"""Copies of the files of tables of the Iceberg catalog. No entry names them: they are in areas,
which belong to all references of a repository and are written once.

So a backup needs those that are there after its moment, and records them with their sizes. While it
copies them, garbage collection keeps what its commits and staged changes lead to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.errors import Gone, NotFound
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import AREAS_FOLDER, areas_folder, is_area_file
from anabranch.pipelines.backups.target import BackupTarget
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.pipelines.jobs.progress import Progress

__all__ = ["AreaFile", "CopiedFile", "Direction", "area_files", "copy_area_files", "missing_files"]

_THREADS = 8
_UPLOADS = "uploads/"


class AreaFile(NamedTuple):
    """A file of an area: its address in the installation, its bytes."""

    address: str
    size: int


class CopiedFile(NamedTuple):
    """A file, and whether it was copied: the source may not have it in this size."""

    file: AreaFile
    is_copied: bool


class Direction(NamedTuple):
    """From where files are copied, and to where: to the target, or `back` from it."""

    target: BackupTarget
    blocks: BlockStore
    back: bool

    def origin(self, address: str) -> tuple[BlockStore, str]:
        """Returns where a file is copied from, by its address in the installation."""
        return self._place(address, in_target=self.back)

    def place(self, address: str) -> tuple[BlockStore, str]:
        """Returns where a file is copied to, by its address in the installation."""
        return self._place(address, in_target=not self.back)

    def _place(self, address: str, *, in_target: bool) -> tuple[BlockStore, str]:
        if in_target:
            return self.target.blocks, self.target.mirrored(address)
        return self.blocks, address


def area_files(blocks: BlockStore, repository: Repository) -> Iterator[AreaFile]:
    """Yields the files of a repository's areas, without uploads that are not complete."""
    folder = f"{areas_folder(repository)}/"
    root = folder.removesuffix(AREAS_FOLDER)
    for info in _list(blocks, folder):
        is_upload = info.address.startswith(folder + _UPLOADS)
        if not is_upload and is_area_file(info.address.removeprefix(root)):
            yield AreaFile(info.address, info.size)


def copy_area_files(
    direction: Direction,
    repository: Repository,
    files: Iterable[AreaFile],
    progress: Progress,
) -> Iterator[CopiedFile]:
    """Copies files of a repository that the destination does not have in their size. Memory grows
    with the number of its files there.
    """
    progress.begin(f"copying the files of tables of {repository.id}", 0)
    blocks, folder = direction.place(f"{areas_folder(repository)}/")
    present = {info.address: info.size for info in _list(blocks, folder)}
    missing = (each for each in files if _is_missing(direction, present, each))
    for copied in parallel_map(partial(_copy, direction), missing, threads=_THREADS):
        progress.advance(1)
        yield copied


def missing_files(
    target: BackupTarget, repository: Repository, files: Iterable[AreaFile]
) -> Iterator[AreaFile]:
    """Yields the files that a target does not have in their size."""
    direction = Direction(target, target.blocks, back=False)
    present = {
        info.address: info.size
        for info in _list(target.blocks, target.mirrored(f"{areas_folder(repository)}/"))
    }
    return (each for each in files if _is_missing(direction, present, each))


def _is_missing(direction: Direction, present: Mapping[str, int], file: AreaFile) -> bool:
    return present.get(direction.place(file.address)[1]) != file.size


def _copy(direction: Direction, file: AreaFile) -> CopiedFile:
    source, origin = direction.origin(file.address)
    destination, place = direction.place(file.address)
    info = source.stat(origin)
    if info is None or info.size != file.size:
        return CopiedFile(file, is_copied=False)
    try:
        stored = destination.put(place, source.get(origin))
    except Gone:
        return CopiedFile(file, is_copied=False)
    return CopiedFile(file, is_copied=stored.size == file.size)


def _list(blocks: BlockStore, prefix: str) -> Iterator[BlockInfo]:
    try:
        yield from blocks.list(prefix)
    except NotFound:
        return  # a bucket that does not exist
