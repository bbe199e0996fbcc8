"""Reading of what the metadata of Iceberg tables name, by the addresses in them.

Only files of areas are read: a table's engine alone can follow an address elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from anabranch.blocks.contract import BlockInfo, BlockStore
from anabranch.errors import NotFound
from anabranch.model.names import encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.area_files import area_paths
from anabranch.model.tables.table_record import RECORDS_ROOT
from anabranch.model.uri import IMAGES
from anabranch.tables.iceberg.named_files import (
    NamedFiles,
    named_in_manifest,
    named_in_manifest_list,
    named_in_metadata,
    needed_by_manifest,
)
from anabranch.tables.live_rows.refusals import unreadable
from anabranch.tables.live_rows.table_objects import MAX_METADATA_BYTES

__all__ = ["NamedTable", "TableFiles", "read_record", "records_prefix"]

_LARGEST_RECORD = 1 << 20


class NamedTable(msgspec.Struct, frozen=True):
    """What a record of a table or a view says: the address of the metadata and the area."""

    metadata: str
    area: str = ""


_records = msgspec.json.Decoder(NamedTable)


def records_prefix(repository: Repository) -> bytes:
    """Returns the prefix of the keys of a repository's records: an image may have the records of
    another repository at any path.
    """
    return b"" if repository.id == IMAGES else encode_path(RECORDS_ROOT)


def read_record(blocks: BlockStore, address: str, size: int) -> NamedTable | None:
    """Returns what the record at a full address says, None if it is none. Raises Gone."""
    if not 0 < size <= _LARGEST_RECORD:
        return None
    try:
        return _records.decode(blocks.read(address, 0, size))
    except msgspec.MsgspecError:
        return None


class TableFiles:
    """The files in the areas of all repositories. `of_name` returns those of a name, also deleted
    ones that can be restored. The methods are given the repository whose record leads to a file.
    They raise NotFound if it is missing, and Invalid if it is outside of areas or not understood.
    `stored` is what `find` has returned, if it was called before.
    """

    def __init__(self, blocks: BlockStore, of_name: Callable[[str], Sequence[Repository]]) -> None:
        self._blocks = blocks
        self._of_name = of_name

    def record(self, address: str, size: int) -> NamedTable | None:
        """Returns what the record at a full address says, None if it is none. Raises Gone."""
        return read_record(self._blocks, address, size)

    def metadata(
        self, home: Repository, address: str, stored: BlockInfo | None = None
    ) -> NamedFiles:
        """Returns what a metadata file names."""
        return named_in_metadata(address, self._read(home, address, stored))

    def manifest_list(
        self, home: Repository, address: str, stored: BlockInfo | None = None
    ) -> Sequence[str]:
        """Returns the manifests in a manifest list."""
        return named_in_manifest_list(address, self._read(home, address, stored))

    def manifest(
        self, home: Repository, address: str, stored: BlockInfo | None = None
    ) -> frozenset[str]:
        """Returns the files that a manifest names."""
        return named_in_manifest(address, self._read(home, address, stored))

    def needed_by_manifest(self, home: Repository, address: str) -> frozenset[str]:
        """Returns the files that the snapshots with a manifest need."""
        return needed_by_manifest(address, self._read(home, address, None))

    def find(self, home: Repository, address: str) -> BlockInfo:
        """Returns where a file is stored, its size and its time."""
        places = self.stored_at(home, address)
        if not places:
            raise unreadable(f"{address} is not in an area of tables")
        for place in places:
            info = self._blocks.stat(place)
            if info is not None:
                return info._replace(address=place)
        raise NotFound(f"{address} is missing", kind="object_not_found")

    def stored_at(self, home: Repository, address: str) -> list[str]:
        """Returns the full addresses in the store that a file in an area may have, the likeliest
        first; none for one elsewhere.
        """
        found: dict[str, None] = {}
        for each in area_paths(address):
            for named in self._named(home, each.repository):
                found[f"{named.storage_namespace.rstrip('/')}/{each.relative}"] = None
        return list(found)

    def exists(self, home: Repository, address: str) -> bool:
        """Returns whether a file in an area is stored; those elsewhere count as stored."""
        places = self.stored_at(home, address)
        return not places or any(self._blocks.stat(place) is not None for place in places)

    def _named(self, home: Repository, name: str) -> Sequence[Repository]:
        """Returns the repositories that an address may mean; `home` if none has its name."""
        if not name or name == home.id:
            return [home]
        return self._of_name(name) or [home]

    def _read(self, home: Repository, address: str, stored: BlockInfo | None) -> bytes:
        found = stored or self.find(home, address)
        if found.size > MAX_METADATA_BYTES:
            raise unreadable(f"{address} has more than {MAX_METADATA_BYTES >> 20} MiB")
        return self._blocks.read(found.address)
