"""Files of tables of the Iceberg catalog, as merges read and write them.

They belong to no branch, so no tree has them. Rights to them are those to the object at the path
for which the table was created, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from anabranch.blocks.contract import BlockStore
from anabranch.errors import AlreadyExists, Conflict, Gone
from anabranch.model.names import check_path
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import AREA_ID, area_record_from, areas_folder
from anabranch.versioning.merging.content_rights import ContentRights
from anabranch.versioning.merging.stored_version import StoredVersion

__all__ = ["TableFiles"]

_PIECE_BYTES = 1 << 20


class TableFiles:
    """The files of the tables of a repository, by the ids of their areas and their paths."""

    def __init__(self, blocks: BlockStore, repository: Repository) -> None:
        self._blocks = blocks
        self._folder = areas_folder(repository)

    def find(self, area: str, path: str, folder: Path) -> StoredVersion | None:
        """Returns a file, None if there is none. If it is not on this machine, it is copied into a
        folder when it is first read.
        """
        address = self._address(area, path)
        stored = self._blocks.stat(address)
        if stored is None:
            return None
        entry = Entry(address=address, size=stored.size, mtime=stored.mtime, checksum="")
        return StoredVersion(self._blocks, address, entry, folder)

    def may_read(self, area: str, rights: ContentRights) -> bool:
        """Returns whether a caller may read the files of an area."""
        path = self._path(area)
        return path is not None and rights.may_read(path)

    def may_write(self, area: str, rights: ContentRights) -> bool:
        """Returns whether a caller may write files into an area."""
        path = self._path(area)
        return path is not None and rights.may_write(path)

    def put(self, area: str, path: str, file: Path) -> None:
        """Stores a file. One that has the same bytes is left as it is. Raises Conflict for one with
        other bytes.
        """
        address = self._address(area, path)
        try:
            self._blocks.put(address, _pieces(file), if_absent=True)
        except AlreadyExists:
            if self._blocks.read(address) != file.read_bytes():
                raise Conflict(
                    f"the area {area} has another file {path} already",
                    kind="merge_failed",
                    hint="Choose a side for the table.",
                ) from None

    def _path(self, area: str) -> str | None:
        """Returns the path that an area was made for, None if there is no such area."""
        if not AREA_ID.fullmatch(area):
            return None
        try:
            return area_record_from(self._blocks.read(f"{self._folder}/{area}.json"), area).path
        except Gone:
            return None

    def _address(self, area: str, path: str) -> str:
        check_path(path)
        if not AREA_ID.fullmatch(area) or {"", ".", ".."}.intersection(path.split("/")):
            raise Conflict(
                f"{path!r} is no path of a table's file",
                kind="merge_failed",
                hint="Choose a side for the table.",
            )
        return f"{self._folder}/{area}/{path}"


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while piece := stream.read(_PIECE_BYTES):
            yield piece
