"""The summary of a run, for people and for programs."""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.pipelines.garbage.marking.attribution import Origins
from anabranch.pipelines.garbage.marking.missing import Missing
from anabranch.pipelines.garbage.marking.reachable import Found
from anabranch.pipelines.garbage.object_totals import ObjectTotals

__all__ = ["State", "Summary"]

State = Literal["running", "checked", "reported", "swept", "failed"]


class Summary(msgspec.Struct, kw_only=True):
    """What a run has found and done; times are in seconds since 1970.

    `candidates` are dead; those that have waited for the restore window are `due`, the others will
    be from `next_due_at` on. `swept` were removed, `revived` were due and found alive at the last
    moment, `late` were left to the next run because their round took too long. `old_uploads` in
    parts have not ended though they began so many seconds ago, of which some were `ended_uploads`.
    `missing` objects are referred to and not there; a `checked` run looked for nothing else.
    `young` and `unknown` objects were left alone: not old enough, and none of ours.
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
    found: Found = msgspec.field(default_factory=Found)
    listed: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    young: int = 0
    unknown: int = 0
    candidates: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    by_month: dict[str, ObjectTotals] = msgspec.field(default_factory=dict)
    origins: Origins = msgspec.field(default_factory=Origins)
    due: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    next_due_at: int = 0
    uploads_seconds: float = 0.0
    old_uploads: int = 0
    ended_uploads: int = 0
    swept: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    quarantine_seconds: float | None = None
    quarantined: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    purged: ObjectTotals = msgspec.field(default_factory=ObjectTotals)
    revived: int = 0
    late: int = 0
    missing: Missing = msgspec.field(default_factory=Missing)
    candidates_location: str = ""
    page_location: str = ""
