"""Marks of the files of tables: what the record of a table leads to, at any live commit or staged.

A record names a metadata file, that manifest lists, these manifests, and these data; all of them
never change, so each is read once, and what it names is kept for later runs (`kept_names`). What
cannot be read, or is not understood, may name any file of its area: all files of the area are kept
then, and of the areas that other files of it name. So are those of an area that no record leads to,
as long as a client writes to it: a table may be about to be created.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.errors import (
    AnabranchError,
    Corrupt,
    Denied,
    Gone,
    Invalid,
    NotFound,
    StoreRefused,
)
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.area_files import area_paths
from anabranch.model.tables.table_area import AREA_ID
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.checked_file import remove_others
from anabranch.pipelines.garbage.addresses.table_files import (
    DeadTableFiles,
    Flags,
    KeptFiles,
    ListedAreas,
    in_areas,
)
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.installations.table_records import TableRecord
from anabranch.pipelines.garbage.marking.kept_names import FileKind, FilePaths, KeptNames, Named
from anabranch.pipelines.garbage.marking.range_records import RangeRecords, kept_name
from anabranch.pipelines.garbage.marking.table_report import (
    KeptArea,
    TableReport,
    TableStatistics,
)
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.versioning.garbage.table_files import NamedTable
from anabranch.versioning.records.left_namespaces import same_namespace

__all__ = ["TableMarks"]

_THREADS = 16

_MAX_SHOWN = 1000
_NOT_TOLD = (
    "the server does not tell what tables need: update it, and use keys of a user who may prepare "
    "collections of all repositories"
)
_NOT_LISTED = "the listing that was given does not tell which areas there are"

_NOT_UNDERSTOOD = (Corrupt, Gone, Invalid, NotFound)
"""Errors of a file that is missing or not understood. Others fail the run: they may pass, and a
file that could not be read may name files in any area.
"""


class _Loaded(NamedTuple):
    """What a record says, and what its metadata file names, if they could be read."""

    record: TableRecord
    table: NamedTable | AnabranchError | None
    names: Named | AnabranchError | None = None


class TableMarks:
    """What tables need in the areas of the `collected` repository. If the records of tables are not
    known, or there are no areas, all files in areas are kept. What is read is kept below `folder`
    for later runs, if there is one; `now`, in seconds since 1970, tells what was stored just now.
    """

    def __init__(
        self,
        installation: Installation,
        collected: Repository,
        folder: Path | None = None,
        now: float = 0,
    ) -> None:
        self._installation = installation
        self._collected = collected
        self._records = installation.table_records(collected)
        self._names: KeptNames | None = None
        if self._records is not None:
            names = None if folder is None else folder / "table-names"
            self._names = KeptNames(self._records.files, names, now)
        self._ranges_folder = None if folder is None else folder / "table-records"
        self._range_records: dict[str, RangeRecords] = {}
        self._ranges: set[tuple[str, str]] = set()
        self._contents: set[tuple[str, str, int]] = set()
        self._read: set[str] = set()
        self._hashes: list[Hashes] = []
        self._live: set[str] = set()
        self._kept: dict[str, set[str]] = {}
        self._unread: dict[str, str] = {}
        self._links: dict[str, set[str]] = {}
        self._listed = ListedAreas()
        self._since = 0
        self._found = DeadTableFiles()
        self._marked = 0
        self._report = TableReport(reason=_NOT_TOLD if self._records is None else _NOT_LISTED)

    def leave_out(self, reason: str = "") -> None:
        """Has nothing read for areas, all of which are kept: there are none, without a reason."""
        self._records, self._report.reason = None, reason

    def note_listed(self, areas: ListedAreas, since: int) -> None:
        """Takes over what the listing says about areas. Files stored at or after `since`, in
        seconds since 1970, are young, and areas that no record leads to are kept if anything in
        them is.
        """
        self._listed, self._since = areas, since
        self._report.files = areas.files
        if self._records is not None:
            self._report.collected, self._report.reason = True, ""

    def without_needed(self, dead: pa.RecordBatch) -> pa.RecordBatch:
        """Returns a batch of dead objects without the files in areas that are needed or young, and
        counts the others.
        """
        marked = self._are_marked(dead.column("address"))
        return self.kept_files().without_kept(dead, self._found, marked)

    def count_dead(self, found: DeadTableFiles) -> None:
        """Adds files that others have found dead."""
        self._found.add(found)

    def report(self) -> TableReport:
        """Returns what was found."""
        return msgspec.structs.replace(
            self._report,
            dead=self._found.dead,
            young=self._found.young,
            marked=TableStatistics(self._marked, 0 if self._names is None else self._names.read),
            kept_areas=self.kept_areas()[:_MAX_SHOWN] if self._report.collected else [],
        )

    def mark_staged(self, repository: Repository | None = None) -> None:
        """Marks what staged records lead to, of one repository or of all."""
        if self._records is not None:
            self._mark_records(self._records.staged(repository))

    def mark_ranges(self, repository: Repository, ranges: Iterable[kernel.RangeInfo]) -> None:
        """Marks what the records in ranges of a repository lead to. Raises Gone, Corrupt."""
        if self._records is None:
            return
        records = self._records_of(repository)
        new = [
            info
            for info in filter(records.may_be_in, ranges)
            if (repository.partition, info.id) not in self._ranges
        ]
        self._mark_records(TableRecord(repository, *row) for row in records.load(new))
        self._ranges.update((repository.partition, info.id) for info in new)

    def hashes(self) -> Hashes:
        """Returns the hashes of the addresses of all files that are marked."""
        self._hashes = [distinct(self._hashes)]
        return self._hashes[0]

    def kept_files(self) -> KeptFiles:
        """Returns which files stay although they are not marked: those in areas that are kept, or
        that were written to lately and that no record leads to, or that have no record beside them.
        """
        if self._records is None or "" in self._unread:
            return KeptFiles()
        listed = self._listed
        areas = {each.area for each in self.kept_areas()} | (listed.newest.keys() - listed.recorded)
        areas |= {
            area
            for area, newest in listed.newest.items()
            if newest >= self._since and area not in self._live
        }
        return KeptFiles(every=False, areas=frozenset(areas), since=self._since)

    def protects(self, addresses: pa.StringArray) -> Flags:
        """Returns for each address, relative to the namespace, whether it is in the folder of areas
        and must be kept.
        """
        return self.kept_files().protects(addresses) | self._are_marked(addresses)

    def areas(self) -> frozenset[str]:
        """Returns the areas that records lead to, and those that are kept."""
        named = self._live.union(each.area for each in self.kept_areas())
        return frozenset(filter(AREA_ID.fullmatch, named))  # a record may name anything

    def kept_areas(self) -> list[KeptArea]:
        """Returns the areas that are kept because something was not understood."""
        found = dict(self._unread)
        pending = list(found)
        while pending:
            area = pending.pop()
            for other in self._links.get(area, ()):
                if other not in found:
                    found[other] = f"the area {area} names files of it, and is kept"
                    pending.append(other)
        return [KeptArea(area, reason) for area, reason in sorted(found.items())]

    def remove_unused(self) -> None:
        """Removes what is kept of files and ranges that are not needed any more."""
        if self._records is None or self._names is None:
            return  # nothing was read
        self._names.remove_unused()
        for records in self._range_records.values():
            records.remove_unused()
        if self._ranges_folder is not None:
            remove_others(self._ranges_folder, self._range_records)

    def _are_marked(self, addresses: pa.StringArray) -> Flags:
        """Returns for each address whether it is of a file that is marked."""
        flags = in_areas(addresses)
        if self._records is not None and flags.any():
            flags[flags] = is_in(hash_addresses(addresses.filter(pa.array(flags))), self.hashes())
        return flags

    def _records_of(self, repository: Repository) -> RangeRecords:
        name = kept_name(repository)
        records = self._range_records.get(name)
        if records is None:
            records = self._range_records[name] = RangeRecords(
                repository,
                lambda table_id: self._installation.locate(repository, table_id),
                self._ranges_folder,
            )
        return records

    def _mark_records(self, records: Iterable[TableRecord]) -> None:
        """Marks what records lead to, each once."""
        new = (each for each in records if self._key(each) not in self._contents)
        for loaded in parallel_map(self._load, new, threads=_THREADS):
            key = self._key(loaded.record)
            if key not in self._contents:
                self._marked += 1
                self._mark_record(loaded)
                self._contents.add(key)

    def _key(self, record: TableRecord) -> tuple[str, str, int]:
        return record.repository.partition, record.address, record.size

    def _load(self, record: TableRecord) -> _Loaded:
        """Reads a record, each time, since its content may be where others can write; and what its
        metadata file names.
        """
        assert self._records is not None  # noqa: S101  the callers have checked
        try:
            table = self._records.files.record(record.address, record.size)
        except (Denied, Gone, Invalid, StoreRefused) as error:
            return _Loaded(record, error)
        if table is None:
            return _Loaded(record, None)
        return _Loaded(record, table, self._load_names("metadata", record, table.metadata)[1])

    def _load_names(
        self, kind: FileKind, record: TableRecord, address: str
    ) -> tuple[str, Named | AnabranchError | None]:
        """Returns an address, and what its file names, or why that is not known; None if it was
        marked before.
        """
        assert self._names is not None  # noqa: S101
        if address in self._read:
            return address, None
        try:
            return address, self._names.load(kind, record.repository, address)
        except _NOT_UNDERSTOOD as error:
            return address, error

    def _mark_record(self, loaded: _Loaded) -> None:
        repository, path = loaded.record[:2]
        where = f"{repository.id} {path}"
        table = loaded.table
        if table is None:
            return self._no_record(repository, f"{where} is no record of a table")
        if isinstance(table, Gone):
            return self._no_record(repository, f"{where} cannot be read: {table}")
        if isinstance(table, AnabranchError):
            # engines may be able to read it, and it may name files of any repository
            self._unread.setdefault("", f"{where} cannot be read: {table}")
            return None
        area = next((each.area for each in area_paths(table.metadata)), table.area)
        self._live |= {area, table.area}
        failure = self._mark_metadata(loaded, area, table.metadata)
        if failure is not None:
            self._unread.setdefault(area, f"{where}: {failure.message}")
        return None

    def _mark_metadata(self, loaded: _Loaded, area: str, address: str) -> AnabranchError | None:
        """Marks a metadata file and all that it leads to, as far as it can be read. Returns why
        some of that is not known.
        """
        record, names = loaded.record, loaded.names
        if address in self._read:
            return None
        assert names is not None  # noqa: S101  then it was in `_read`
        if isinstance(names, AnabranchError):
            return names
        self._keep_new(area, {address, *names.lists, *names.manifests})
        self._keep(area, _others(names))
        manifests = dict.fromkeys(names.manifests)
        failures: list[AnabranchError] = []
        for listed in self._read_new("manifest list", record, names.lists, failures):
            self._keep_new(area, listed.manifests)
            manifests.update(dict.fromkeys(listed.manifests))
        for found in self._read_new("manifest", record, manifests, failures):
            self._keep(area, _others(found))
        if failures:
            # another table that has these lists does not understand them either
            self._read.difference_update(names.lists)
            return failures[0]
        self._read.add(address)
        return None

    def _read_new(
        self,
        kind: FileKind,
        record: TableRecord,
        addresses: Iterable[str],
        failures: list[AnabranchError],
    ) -> Iterator[Named]:
        """Yields what the files at addresses name that were not marked before."""
        new = [each for each in dict.fromkeys(addresses) if each not in self._read]
        for address, found in parallel_map(
            lambda address: self._load_names(kind, record, address), new, threads=_THREADS
        ):
            if isinstance(found, AnabranchError):
                failures.append(found)
            elif found is not None:
                self._read.add(address)
                yield found

    def _keep_new(self, area: str, addresses: Iterable[str]) -> None:
        """Marks the files that addresses may mean which many versions of a table name."""
        assert self._names is not None  # noqa: S101
        known = self._kept.setdefault(area, set())
        new = [each for each in addresses if each not in known]
        known.update(new)
        if new:
            self._keep(area, self._names.paths(new))

    def _keep(self, area: str, files: FilePaths) -> None:
        """Marks files that an area names."""
        self._hashes.append(files.hashes)
        self._live |= files.areas
        if files.areas - {area}:
            self._links.setdefault(area, set()).update(files.areas - {area})

    def _no_record(self, repository: Repository, reason: str) -> None:
        """Keeps all areas in the namespace of a repository with a record that says nothing."""
        if same_namespace(repository.storage_namespace, self._collected.storage_namespace):
            self._unread.setdefault("", reason)


def _others(names: Named) -> FilePaths:
    """Returns the files that a file names and that name no others."""
    return FilePaths(np.frombuffer(names.hashes, "<u8"), frozenset(names.areas))
