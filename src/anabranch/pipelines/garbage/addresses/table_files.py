"""Files in areas of tables, and uploads to areas that were never completed, in the listing of a
namespace: when each area was last written to, and which files stay without being marked.

The rows of a listing in the folder of areas are files of an area, records of areas, uploads, and
what Anabranch did not write there. What looks like an area and has no record beside it is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from anabranch.model.tables.table_area import AREAS_FOLDER
from anabranch.pipelines.garbage.totals import ObjectTotals, add_objects

__all__ = ["DeadTableFiles", "Flags", "KeptFiles", "ListedAreas", "in_areas", "table_files"]

Flags = npt.NDArray[np.bool_]

_ID = "[0-9a-f]{32}"
_FILE = rf"^{AREAS_FOLDER}{_ID}/."
_REMOVABLE = rf"{_FILE}|^{AREAS_FOLDER}uploads/{_ID}-{_ID}$"
"""The patterns of files of areas, and of these and uploads."""
_RECORD = rf"^{AREAS_FOLDER}{_ID}\.json$"
_AREA = slice(len(AREAS_FOLDER), len(AREAS_FOLDER) + 32)


def in_areas(addresses: pa.StringArray) -> Flags:
    """Returns for each address, relative to a namespace, whether it is in the folder of areas."""
    return np.array(pc.starts_with(addresses, AREAS_FOLDER))


def table_files(batch: pa.RecordBatch, *, kept: bool) -> pa.RecordBatch:
    """Returns the rows in the folder of areas, or else the others."""
    flags = in_areas(batch.column("address"))
    return batch.filter(pa.array(flags if kept else ~flags))


class ListedAreas(msgspec.Struct):
    """What a listing says about areas: when each was last written to, in seconds since 1970; which
    have a record; and the totals of their files. Parts of a listing can be added up.
    """

    newest: dict[str, int] = {}
    recorded: set[str] = set()
    files: ObjectTotals = msgspec.field(default_factory=ObjectTotals)

    def count(self, batch: pa.RecordBatch) -> None:
        """Adds the rows of a batch that are in the folder of areas."""
        if not in_areas(batch.column("address")).any():
            return
        addresses = batch.column("address")
        is_file = pc.match_substring_regex(addresses, _FILE)
        is_record = pc.match_substring_regex(addresses, _RECORD)
        add_objects(self.files, batch.filter(is_file))
        areas = pc.utf8_slice_codeunits(addresses, _AREA.start, _AREA.stop)
        self.recorded.update(areas.filter(is_record).to_pylist())
        rows = pa.table([areas, batch.column("mtime")], ["area", "mtime"])
        written = (
            rows.filter(pc.or_(is_file, is_record)).group_by("area").aggregate([("mtime", "max")])
        )
        self._note(zip(*(column.to_pylist() for column in written.columns), strict=True))

    def add(self, other: ListedAreas) -> None:
        """Adds what another part of the listing says."""
        self.recorded |= other.recorded
        self.files.add(other.files.objects, other.files.bytes)
        self._note(other.newest.items())

    def _note(self, written: Iterable[tuple[str, int]]) -> None:
        for area, mtime in written:
            self.newest[area] = max(mtime, self.newest.get(area, mtime))


class DeadTableFiles(msgspec.Struct):
    """Totals of the files of tables that nothing needs, and how many of those are young."""

    dead: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    young: int = 0

    def add(self, other: DeadTableFiles) -> None:
        """Adds other totals."""
        self.dead.add(other.dead.objects, other.dead.bytes)
        self.young += other.young


class KeptFiles(NamedTuple):
    """The files of tables that stay although they are not marked: in these `areas`, or `every` one;
    and those stored at or after `since`, in seconds since 1970.
    """

    every: bool = True
    areas: frozenset[str] = frozenset()
    since: int = 0

    def protects(self, addresses: pa.StringArray) -> Flags:
        """Returns for each address, relative to the namespace, whether it is in the folder of areas
        and stays whatever its age.
        """
        flags = in_areas(addresses)
        if self.every or not flags.any():
            return flags
        rows = np.flatnonzero(flags)
        files = addresses.take(pa.array(rows))
        kept = ~pc.match_substring_regex(files, _REMOVABLE).to_numpy(zero_copy_only=False)
        areas = pc.utf8_slice_codeunits(files, _AREA.start, _AREA.stop)
        named = pa.array(sorted(self.areas), pa.string())
        kept |= pc.is_in(areas, value_set=named).to_numpy(zero_copy_only=False)
        flags[rows] = kept
        return flags

    def without_kept(
        self, dead: pa.RecordBatch, found: DeadTableFiles, marked: Flags | None = None
    ) -> pa.RecordBatch:
        """Returns a batch of dead objects without the files of tables that stay, and counts the
        others; `marked` tells which of the rows are marked, without it none is.
        """
        addresses = dead.column("address")
        inside = in_areas(addresses)
        if not inside.any():
            return dead
        kept = self.protects(addresses)
        if marked is not None:
            kept |= inside & marked
        young = inside & ~kept & (dead.column("mtime").to_numpy() >= self.since)
        found.young += int(young.sum())
        add_objects(found.dead, dead.filter(pa.array(inside & ~kept & ~young)))
        return dead.filter(pa.array(~(kept | young)))
