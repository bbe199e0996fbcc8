"""The folders that tables of the catalog were registered from.

Which one it was is in the record of the table's area, and which area in the table's own record. So
a list reads the records at a reference, each once: their bytes never change at an address.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.catalog.tables.iceberg.recent_values import RecentValues
from anabranch.catalog.tables.iceberg.record_store import RecordStore
from anabranch.errors import Corrupt, NotFound
from anabranch.model.names import decode_key
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_record import RECORDS_ROOT, is_table_record, table_from
from anabranch.versioning.core import Core
from anabranch.versioning.records.entries import entry_from
from anabranch.versioning.references.references import Resolved

__all__ = ["RegisteredFolders"]

_PAGE = 1_000
_MOST = 2_000
"""The most records that are looked at: a store may need a request for each."""

_THREADS = 16
_CACHED_BYTES = 4 << 20
_ENTRY_BYTES = 200


class RegisteredFolders:
    """The folders of all repositories."""

    def __init__(self, core: Core, records: RecordStore, areas: TableAreas) -> None:
        self._core = core
        self._records = records
        self._areas = areas
        self._known: RecentValues[str] = RecentValues(_CACHED_BYTES, _CACHED_BYTES)

    def at(
        self, repository: Repository, resolved: Resolved, readable: ReadablePaths | None
    ) -> frozenset[str]:
        """Returns the folders that the first 2,000 of the readable tables of the catalog at a
        resolved reference were registered from, each with a slash at its end.
        """
        found, unknown = set(), []
        entries = self._entries(repository, resolved, readable)
        for path, entry in itertools.islice(entries, _MOST):
            folder = self._known.get(self._key(repository, entry))
            if folder is None:
                unknown.append((path, entry))
            else:
                found.add(folder)
        if unknown:
            with ThreadPoolExecutor(min(_THREADS, len(unknown))) as pool:
                found.update(pool.map(lambda each: self._read(repository, *each), unknown))
        return frozenset(found - {""})

    def _entries(
        self, repository: Repository, resolved: Resolved, readable: ReadablePaths | None
    ) -> Iterator[tuple[str, Entry]]:
        after, has_more = "", True
        while has_more:
            listing = list_objects(
                *(self._core, repository, resolved, readable),
                prefix=RECORDS_ROOT,
                after=after,
                delimiter="",
                amount=_PAGE,
            )
            for key, value in listing.rows():
                after = decode_key(key)
                if value is not None and is_table_record(after):
                    yield after, entry_from(value)
            has_more = listing.has_more

    def _read(self, repository: Repository, path: str, entry: Entry) -> str:
        """Returns the folder of a table, "" without one, also for a record that is damaged."""
        try:
            record = table_from(self._records.content(repository, entry), repository.id, path)
            area = self._areas.find(repository, record.area) if record.registered else None
        except (Corrupt, NotFound):
            area = None
        folder = area.folder if area else ""
        key = self._key(repository, entry)
        self._known.put(key, folder, len(key[1]) + len(folder) + _ENTRY_BYTES)
        return folder

    def _key(self, repository: Repository, entry: Entry) -> tuple[str, str]:
        namespace = repository.storage_namespace
        return repository.partition, physical_address(namespace, entry.address, entry.address_type)
