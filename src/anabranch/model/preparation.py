"""The preparation of a garbage collection: its results and its background task."""

from __future__ import annotations

import msgspec

__all__ = ["Preparation", "PreparationTask"]


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a preparation: the address of the list of active commits (`commits`), and the
    address where the collector may write the addresses of garbage. Both are full addresses.
    """

    run_id: str
    commits: str
    addresses: str


class PreparationTask(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a preparation in the background; `updated_at` in seconds since 1970. When
    `done`, it has a result, or an error with its HTTP status.
    """

    id: str
    updated_at: float
    done: bool = False
    result: Preparation | None = None
    error: str = ""
    status_code: int = 0
    owner: str = ""
