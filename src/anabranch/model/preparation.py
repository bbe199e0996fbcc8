"""The preparation of a garbage collection: what was written for it and where, and its task."""

from __future__ import annotations

import msgspec

__all__ = ["Preparation", "PreparationTask"]


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: the active commits (at `commits`), and where whoever collects may write
    the addresses of garbage. Both are full addresses.
    """

    run_id: str
    commits: str
    addresses: str


class PreparationTask(msgspec.Struct, frozen=True, kw_only=True):
    """How a preparation in the background goes; `updated_at` in seconds since 1970. One that is
    `done` has a result, or an error with its HTTP status.
    """

    id: str
    updated_at: float
    done: bool = False
    result: Preparation | None = None
    error: str = ""
    status_code: int = 0
    owner: str = ""
