"""Totals of objects and of the candidates of a run, which can be computed in parts and added up."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["CandidateTimes", "CandidateTotals", "ObjectTotals", "add_objects"]


class ObjectTotals(msgspec.Struct):
    """The number of objects and their total size in bytes."""

    objects: int = 0
    bytes: int = 0

    def add(self, objects: int, size: int) -> None:
        """Adds a number of objects and their total size."""
        self.objects += objects
        self.bytes += size


class CandidateTimes(NamedTuple):
    """The times that decide about candidates, in seconds since 1970: only objects from before
    `before` can become candidates, and those found dead up to `until` are due at `now`. `window`
    is the restore window, in seconds.
    """

    before: int
    now: int
    until: int
    window: int


class CandidateTotals(msgspec.Struct):
    """Candidates, in total, by the month of their modification, and those that are due; when the
    next one is due, in seconds since 1970, or 0; and the number of `unknown` dead objects, which
    have no generated address.
    """

    unknown: int = 0
    candidates: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    due: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    next_due_at: int = 0
    by_month: dict[str, ObjectTotals] = msgspec.field(default_factory=dict)

    def count(self, batch: pa.RecordBatch, times: CandidateTimes) -> None:
        """Adds a batch of candidates."""
        is_due = pc.less_equal(batch.column("since"), times.until)
        waiting = batch.filter(pc.invert(is_due))
        add_objects(self.candidates, batch)
        add_objects(self.due, batch.filter(is_due))
        if waiting.num_rows:
            self._note_next(pc.min(waiting.column("since")).as_py() + times.window)
        months = pc.strftime(batch.column("mtime").cast(pa.timestamp("s", "UTC")), "%Y-%m")
        for month in pc.unique(months).to_pylist():
            of_month = batch.filter(pc.equal(months, month))
            add_objects(self.by_month.setdefault(month, ObjectTotals()), of_month)

    def add(self, other: CandidateTotals) -> None:
        """Adds the totals of another part."""
        self.unknown += other.unknown
        self.candidates.add(other.candidates.objects, other.candidates.bytes)
        self.due.add(other.due.objects, other.due.bytes)
        if other.next_due_at:
            self._note_next(other.next_due_at)
        for month, totals in other.by_month.items():
            own = self.by_month.setdefault(month, ObjectTotals())
            own.add(totals.objects, totals.bytes)

    def _note_next(self, when: int) -> None:
        self.next_due_at = min(when, self.next_due_at) if self.next_due_at else when


def add_objects(amount: ObjectTotals, batch: pa.RecordBatch) -> None:
    """Adds the objects of a batch, whose sizes are in the column `size`."""
    amount.add(batch.num_rows, pc.sum(batch.column("size")).as_py() or 0)
