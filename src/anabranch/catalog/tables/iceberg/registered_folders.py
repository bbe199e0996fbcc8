"""The folders that tables of the catalog were registered from.

Which one it was is in the record of the table's area, and which area in the table's own record. So
a list reads the records at a reference, each once: their bytes never change at an address. A folder
is that of a table only where it has the object that was registered: who may write to one branch
could register a folder of the same path there, and so hide the folder of others on another branch.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from anabranch.access.actors.readable_paths import ReadablePaths
from anabranch.catalog.objects.readable_listing import list_objects
from anabranch.catalog.tables.iceberg.areas import TableAreas
from anabranch.catalog.tables.iceberg.recent_values import RecentValues
from anabranch.catalog.tables.iceberg.record_store import RecordStore
from anabranch.errors import Corrupt, NotFound
from anabranch.model.names import decode_key
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import Origin
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
_ENTRY_BYTES = 500


class _Known(NamedTuple):
    """Where a table was registered from, and the path that its area was made for."""

    origin: Origin | None = None
    path: str = ""


class RegisteredFolders:
    """The folders of all repositories."""

    def __init__(self, core: Core, records: RecordStore, areas: TableAreas) -> None:
        self._core = core
        self._records = records
        self._areas = areas
        self._known: RecentValues[_Known] = RecentValues(_CACHED_BYTES, _CACHED_BYTES)

    def at(
        self, repository: Repository, resolved: Resolved, readable: ReadablePaths | None
    ) -> Mapping[str, Iterable[Origin]]:
        """Returns the folders that the first 2,000 of the readable tables of the catalog at a
        resolved reference were registered from, each with a slash at its end, and the objects that
        were. All tables may be read if `readable` is None; else after a rename both paths count.
        """
        found, unknown = list[_Known](), []
        entries = self._entries(repository, resolved, readable)
        for path, entry in itertools.islice(entries, _MOST):
            known = self._known.get(self._key(repository, entry))
            if known is None:
                unknown.append((path, entry))
            else:
                found.append(known)
        if unknown:
            with ThreadPoolExecutor(min(_THREADS, len(unknown))) as pool:
                found.extend(pool.map(lambda each: self._read(repository, *each), unknown))
        folders: defaultdict[str, set[Origin]] = defaultdict(set)
        for origin, path in found:
            if origin is not None and (readable is None or path in readable):
                folders[origin.folder].add(origin)
        return folders

    def has_any(
        self, repository: Repository, resolved: Resolved, origins: Iterable[Origin]
    ) -> bool:
        """Returns whether one of these objects is at a resolved reference."""
        for origin in origins:
            entry = self._core.objects.entry_at(repository, resolved, origin.path)
            if entry is not None and entry.address == origin.address:
                return True
        return False

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

    def _read(self, repository: Repository, path: str, entry: Entry) -> _Known:
        """Returns where a table was registered from; nothing for a record that is damaged."""
        try:
            record = table_from(self._records.content(repository, entry), repository.id, path)
            area = self._areas.find(repository, record.area) if record.registered else None
        except (Corrupt, NotFound):
            area = None
        origin = area.origin if area else None
        known = _Known(origin, area.path) if area and origin else _Known()
        key = self._key(repository, entry)
        size = len(key[1]) + len(known.path) + _ENTRY_BYTES
        size += len(origin.path) + len(origin.address) if origin else 0
        self._known.put(key, known, size)
        return known

    def _key(self, repository: Repository, entry: Entry) -> tuple[str, str]:
        namespace = repository.storage_namespace
        return repository.partition, physical_address(namespace, entry.address, entry.address_type)
