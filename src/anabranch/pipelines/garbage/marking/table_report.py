"""What a run reports of files of tables."""

from __future__ import annotations

import msgspec

from anabranch.pipelines.garbage.totals import ObjectTotals

__all__ = ["KeptArea", "TableReport", "TableStatistics"]


class KeptArea(msgspec.Struct, frozen=True):
    """An area all of whose files are kept, and why. An empty id stands for all areas."""

    area: str
    reason: str


class TableStatistics(msgspec.Struct):
    """Counts of what was marked: records of tables, and the metadata files, manifest lists and
    manifests that were read for them, because what they name was not kept.
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
