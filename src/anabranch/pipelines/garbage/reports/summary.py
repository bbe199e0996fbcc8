"""The summary of a run, for people and for programs."""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.pipelines.garbage.marking.attribution import Origins
from anabranch.pipelines.garbage.marking.missing import Missing
from anabranch.pipelines.garbage.marking.reachable import MarkStatistics
from anabranch.pipelines.garbage.marking.table_report import TableReport
from anabranch.pipelines.garbage.totals import CandidateTotals, ObjectTotals
from anabranch.pipelines.jobs.task_totals import TaskTotals

__all__ = ["State", "Summary"]

State = Literal["running", "checked", "reported", "swept", "failed"]


class Summary(msgspec.Struct, kw_only=True):
    """The results of a run; times are in seconds since 1970.

    `candidates` are dead objects. Those that have waited for the restore window are `due`; the next
    of the others is due at `next_due_at`. `swept` objects were removed permanently, `quarantined`
    ones can be restored, `revived` ones were due but became reachable again, `late` ones are left
    to the next run because their round took too long, and `gone` ones were removed and counted by
    another run. `old_uploads` is the number of unfinished multipart uploads that began at least
    `uploads_seconds` ago, `ended_uploads` of those that were aborted. `tables` is what was found of
    files of tables, which are candidates from an age of `tables_seconds` on. `missing` objects are
    referenced but not in the store; a run in the state `checked` looked only for these. `young`
    objects are not old enough to be candidates, `unknown` objects are dead but have no generated
    address. `phases` are the seconds that each phase took.
    `tasks` are the totals of the tasks of each phase on Spark, whose names are those in its log.
    """

    run_id: str
    repository: str
    storage_namespace: str
    engine: str
    state: State = "running"
    error: str = ""
    started_at: float
    ended_at: float = 0.0
    clock_ahead_seconds: float = 0.0
    grace_seconds: float
    window_seconds: float
    default_retention_days: int | None = None
    branch_retention_days: dict[str, int] = {}
    found: MarkStatistics = msgspec.field(default_factory=MarkStatistics)
    listed: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    young: int = 0
    unknown: int = 0
    candidates: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    by_month: dict[str, ObjectTotals] = msgspec.field(default_factory=dict)
    origins: Origins = msgspec.field(default_factory=Origins)
    due: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    next_due_at: int = 0
    uploads_seconds: float = 0.0
    tables_seconds: float = 0.0
    tables: TableReport = msgspec.field(default_factory=TableReport)
    old_uploads: int = 0
    ended_uploads: int = 0
    swept: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    quarantine_seconds: float | None = None
    quarantined: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    purged: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    revived: int = 0
    late: int = 0
    gone: int = 0
    missing: Missing = msgspec.field(default_factory=Missing)
    candidates_location: str = ""
    page_location: str = ""
    phases: dict[str, float] = {}
    tasks: dict[str, TaskTotals] = {}

    def set_candidates(self, totals: CandidateTotals) -> None:
        """Takes over the totals of the candidates."""
        self.unknown, self.next_due_at = totals.unknown, totals.next_due_at
        self.candidates, self.due, self.by_month = totals.candidates, totals.due, totals.by_month
