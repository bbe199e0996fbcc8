"""The report on a repository's storage. Sizes are in bytes, times in seconds since 1970."""

from __future__ import annotations

import msgspec

__all__ = ["BranchStorage", "GarbageFound", "GrowthPoint", "StorageReport"]
__all__ += ["TablesFound", "Totals"]


class Totals(msgspec.Struct, frozen=True):
    """A number of objects and their total size."""

    objects: int = 0
    bytes: int = 0


class BranchStorage(msgspec.Struct, frozen=True):
    """A branch's committed objects: those at its head, and of these the ones whose bytes no other
    branch has at its head, which deleting the branch would release once its commits expire.
    """

    branch: str
    total: Totals
    unique: Totals


class GrowthPoint(msgspec.Struct, frozen=True):
    """The objects at a commit."""

    commit_id: str
    created_at: int
    total: Totals


class TablesFound(msgspec.Struct, frozen=True, kw_only=True):
    """What a run found of the files of tables of the Iceberg catalog: all of them, and those that
    no live commit leads to, which are among the candidates if they are `collected`.
    """

    files: Totals = Totals()
    dead: Totals = Totals()
    collected: bool = False


class GarbageFound(msgspec.Struct, frozen=True, kw_only=True):
    """What the newest complete run of garbage collection found: `candidates` are referenced by
    nothing, of these `due` had waited long enough to be removed; the next of the others is due at
    `next_due_at`. `young` objects may be referenced soon, so whether they are was not looked at.
    """

    run_id: str
    state: str
    started_at: float
    candidates: Totals = Totals()
    due: Totals = Totals()
    swept: Totals = Totals()
    quarantined: Totals = Totals()
    young: int = 0
    next_due_at: int = 0
    tables: TablesFound = TablesFound()


class StorageReport(msgspec.Struct, frozen=True, kw_only=True):
    """A repository's storage. `distinct` counts bytes that several paths or branches share once,
    `kept_for_undo` those that are at no head and are kept because an operation can be undone.
    `complete` is whether all of them are in the report. `garbage` is None without a complete run.
    """

    branches: list[BranchStorage]
    distinct: Totals
    kept_for_undo: Totals
    growth: list[GrowthPoint]
    garbage: GarbageFound | None
    complete: bool
