"""Marks of the files of tables: what the record of a table leads to, at any live commit or staged.

A record names a metadata file, that manifest lists, these manifests, and these data; all of them
never change, so each is read once. What cannot be read, or is not understood, may name any file of
its area: all files of the area are kept then, and of the areas that other files of it name. So are
those of an area that no record leads to, as long as a client writes to it: a table may be about to
be created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
from anabranch.model.names import encode_path
from anabranch.model.objects.entry import physical_address
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.area_files import area_paths
from anabranch.model.tables.table_area import AREA_ID, AREAS_FOLDER
from anabranch.model.tables.table_record import RECORDS_ROOT, is_record_path
from anabranch.model.uri import IMAGES
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.anti_join import is_in
from anabranch.pipelines.garbage.addresses.candidates import TABLE_FILE
from anabranch.pipelines.garbage.addresses.range_tree import range_tree
from anabranch.pipelines.garbage.installations.installation import Installation
from anabranch.pipelines.garbage.installations.stored_table_records import StoredTableRecords
from anabranch.pipelines.garbage.totals import ObjectTotals, add_objects
from anabranch.pipelines.jobs.parallel_map import parallel_map
from anabranch.versioning.records.left_namespaces import same_namespace

__all__ = ["KeptArea", "TableMarks", "TableReport", "TableStatistics"]

_AREA = slice(len(AREAS_FOLDER), len(AREAS_FOLDER) + 32)
_THREADS = 16

_MAX_SHOWN = 1000
_THROUGH_SERVER = "a collection through a server does not know what tables need"
_OTHER_ENGINE = "this engine does not list them: run `anabranch gc` without Spark"

_NOT_UNDERSTOOD = (Corrupt, Gone, Invalid, NotFound)
"""Errors of a file that is missing or not understood. Others fail the run: they may pass, and a
file that could not be read may name files in any area.
"""

Flags = npt.NDArray[np.bool_]


class KeptArea(msgspec.Struct, frozen=True):
    """An area all of whose files are kept, and why. An empty id stands for all areas."""

    area: str
    reason: str


class TableStatistics(msgspec.Struct):
    """Counts of what was marked: records of tables, and the metadata files, manifest lists and
    manifests that were read for them.
    """

    records: int = 0
    read: int = 0


class TableReport(msgspec.Struct, kw_only=True):
    """What a run has found of the files of tables: whether they are `collected` or else the
    `reason` why not; all `files`, those of them that are `dead`, those that are `young`; and the
    areas that were kept as a whole.
    """

    collected: bool = False
    reason: str = ""
    files: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    dead: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    young: int = 0
    marked: TableStatistics = msgspec.field(default_factory=TableStatistics)
    kept_areas: list[KeptArea] = []


class TableMarks:
    """What tables need in the areas of the `collected` repository. If the records of tables are not
    known, or there are no areas, all files in areas are kept.
    """

    def __init__(self, installation: Installation, collected: Repository) -> None:
        self._installation = installation
        self._collected = collected
        self._records: StoredTableRecords | None = installation.table_records
        self._ranges: set[tuple[str, str]] = set()
        self._contents: set[tuple[str, str, int]] = set()
        self._read: set[str] = set()
        self._hashes: list[Hashes] = []
        self._live: set[str] = set()
        self._kept: dict[str, set[str]] = {}
        self._unread: dict[str, str] = {}
        self._links: dict[str, set[str]] = {}
        self._newest: dict[str, int] = {}
        self._written_since = 0
        self._statistics = TableStatistics()
        self._report = TableReport(
            reason=_THROUGH_SERVER if self._records is None else _OTHER_ENGINE
        )

    def leave_out(self, reason: str = "") -> None:
        """Has nothing read for areas, all of which are kept: there are none, without a reason."""
        self._records, self._report.reason = None, reason

    def note_listed(self, files: ObjectTotals, newest: dict[str, int], since: int) -> None:
        """Takes over the totals of the listed files, and when each area was last written to. Files
        stored at or after `since` are young, and areas that no record leads to are kept if
        anything in them is; times are in seconds since 1970.
        """
        self._newest, self._written_since = newest, since
        self._report.files = files
        if self._records is not None:
            self._report.collected, self._report.reason = True, ""

    def without_needed(self, dead: pa.RecordBatch) -> pa.RecordBatch:
        """Returns a batch of dead objects without the files in areas that are needed or young, and
        counts the others.
        """
        addresses = dead.column("address")
        in_areas = pc.starts_with(addresses, AREAS_FOLDER).to_numpy(zero_copy_only=False)
        if not in_areas.any():
            return dead
        kept = self.protects(addresses)
        young = in_areas & ~kept & (dead.column("mtime").to_numpy() >= self._written_since)
        self._report.young += int(young.sum())
        unneeded = dead.filter(pa.array(in_areas & ~kept & ~young))
        add_objects(self._report.dead, unneeded)
        return dead.filter(pa.array(~(kept | young)))

    def report(self) -> TableReport:
        """Returns what was found."""
        return msgspec.structs.replace(
            self._report,
            marked=self._statistics,
            kept_areas=self.kept_areas()[:_MAX_SHOWN] if self._report.collected else [],
        )

    def mark_staged(self, repository: Repository) -> None:
        """Marks what staged records lead to."""
        if self._records is not None:
            for path, entry in self._records.staged(repository):
                address = entry.full_address(repository.storage_namespace)
                self._mark_record(repository, path, address, entry.size)

    def mark_ranges(self, repository: Repository, ranges: Iterable[kernel.RangeInfo]) -> None:
        """Marks what the records in ranges of a repository lead to. Raises Gone, Corrupt."""
        if self._records is None:
            return
        root = encode_path(RECORDS_ROOT)
        for info in ranges:
            # an image may have a repository's records at any path
            is_image = repository.id == IMAGES
            if not is_image and (info.max_key < root or info.min_key[: len(root)] > root):
                continue
            if (repository.partition, info.id) not in self._ranges:
                prefix = b"" if is_image else root
                for path, address, size in self._records_in(repository, info, prefix):
                    self._mark_record(repository, path, address, size)
                self._ranges.add((repository.partition, info.id))

    def protects(self, addresses: pa.StringArray) -> Flags:
        """Returns for each address, relative to the namespace, whether it is in the folder of areas
        and must be kept.
        """
        flags = np.array(pc.starts_with(addresses, AREAS_FOLDER))
        if not flags.any():
            return flags
        if self._records is None or "" in self._unread:
            return flags
        rows = np.flatnonzero(flags)
        files = addresses.take(pa.array(rows))
        kept = ~pc.match_substring_regex(files, TABLE_FILE).to_numpy(zero_copy_only=False)
        areas = pc.utf8_slice_codeunits(files, _AREA.start, _AREA.stop)
        every = pa.array([each.area for each in self.kept_areas()] + self._written(), pa.string())
        kept |= pc.is_in(areas, value_set=every).to_numpy(zero_copy_only=False)
        self._hashes = [distinct(self._hashes)]
        kept |= is_in(hash_addresses(files), self._hashes[0])
        result = np.zeros(len(addresses), np.bool_)
        result[rows] = kept
        return result

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

    def _written(self) -> list[str]:
        """Returns the areas that no record leads to and that were written to lately."""
        return [
            area
            for area, newest in self._newest.items()
            if newest >= self._written_since and area not in self._live
        ]

    def _records_in(
        self, repository: Repository, info: kernel.RangeInfo, prefix: bytes
    ) -> Iterator[tuple[str, str, int]]:
        """Yields path, full address and size of the records in a range."""
        with range_tree(info, self._installation.locate(repository, info.id)) as tree:
            for batch in pa.RecordBatchReader.from_stream(tree.scan(prefix=prefix)):
                columns = ("path", "physical_address", "address_type", "size")
                for path, address, kind, size in zip(
                    *(batch.column(name).to_pylist() for name in columns), strict=True
                ):
                    inner = path[max(path.find(RECORDS_ROOT), 0) :]
                    if is_record_path(inner):
                        full = physical_address(repository.storage_namespace, address, kind)
                        yield path, full, size

    def _mark_record(self, repository: Repository, path: str, address: str, size: int) -> None:
        key = repository.partition, address, size
        if key in self._contents:
            return
        self._statistics.records += 1
        self._mark_content(repository, path, address, size)
        self._contents.add(key)

    def _mark_content(self, repository: Repository, path: str, address: str, size: int) -> None:
        assert self._records is not None  # noqa: S101  the callers have checked
        where = f"{repository.id} {path}"
        try:
            record = self._records.read(address, size)
        except Gone as error:
            return self._no_record(repository, f"{where} cannot be read: {error}")
        except (Denied, Invalid, StoreRefused) as error:
            # engines may be able to read it, and it may name files of any repository
            self._unread.setdefault("", f"{where} cannot be read: {error}")
            return None
        if record is None:
            return self._no_record(repository, f"{where} is no record of a table")
        area = next((each.area for each in area_paths(record.metadata)), record.area)
        self._live |= {area, record.area}
        try:
            self._mark_table(repository, area, record.metadata)
        except _NOT_UNDERSTOOD as error:
            self._unread.setdefault(area, f"{where}: {error.message}")

    def _mark_table(self, repository: Repository, area: str, address: str) -> None:
        """Marks a metadata file and all that it leads to. Raises what reading raises, after it has
        marked what could be read.
        """
        assert self._records is not None  # noqa: S101
        files = self._records.files
        if address in self._read:
            return
        named = files.metadata(repository, address)
        self._statistics.read += 1
        self._keep_new(area, {address, *named.texts})
        manifests = dict.fromkeys(named.manifests)
        failures: list[AnabranchError] = []
        for listed in self._read_new(
            partial(files.manifest_list, repository), named.manifest_lists, failures
        ):
            self._keep_new(area, listed)
            manifests.update(dict.fromkeys(listed))
        for found in self._read_new(partial(files.manifest, repository), manifests, failures):
            self._keep(area, found)
        if failures:
            # another table that has these lists does not understand them either
            self._read.difference_update(named.manifest_lists)
            raise failures[0]
        self._read.add(address)

    def _read_new(
        self,
        read: Callable[[str], Iterable[str]],
        addresses: Iterable[str],
        failures: list[AnabranchError],
    ) -> Iterator[Iterable[str]]:
        """Yields what the files at addresses name that were not read before."""

        def attempt(address: str) -> tuple[str, Iterable[str] | AnabranchError]:
            try:
                return address, read(address)
            except _NOT_UNDERSTOOD as error:
                return address, error

        new = [each for each in dict.fromkeys(addresses) if each not in self._read]
        for address, found in parallel_map(attempt, new, threads=_THREADS):
            if isinstance(found, AnabranchError):
                failures.append(found)
                continue
            self._statistics.read += 1
            self._read.add(address)
            yield found

    def _keep_new(self, area: str, addresses: Iterable[str]) -> None:
        """Marks the files that addresses may mean which many versions of a table name."""
        known = self._kept.setdefault(area, set())
        new = [each for each in addresses if each not in known]
        known.update(new)
        self._keep(area, new)

    def _keep(self, area: str, addresses: Iterable[str]) -> None:
        """Marks the files that addresses may mean."""
        named = []
        for address in addresses:
            for each in area_paths(address):
                named.append(each.relative)
                self._live.add(each.area)
                if each.area != area:
                    self._links.setdefault(area, set()).add(each.area)
        if named:
            self._hashes.append(distinct([hash_addresses(pa.array(named, pa.string()))]))

    def _no_record(self, repository: Repository, reason: str) -> None:
        """Keeps all areas in the namespace of a repository with a record that says nothing."""
        if same_namespace(repository.storage_namespace, self._collected.storage_namespace):
            self._unread.setdefault("", reason)
