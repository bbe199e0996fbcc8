"""The state of a task: work that a server does in the background for a client that polls it."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

__all__ = ["Task"]

ResultT = TypeVar("ResultT")


class Task(msgspec.Struct, Generic[ResultT], frozen=True, kw_only=True):
    """The state of a task; `updated_at` in seconds since 1970, `progress` counts what was
    processed. A task that is `done` has a result, if its kind has results, or an error with its
    HTTP status.
    """

    id: str
    updated_at: float
    done: bool = False
    progress: int = 0
    result: ResultT | None = None
    error: str = ""
    status_code: int = 0
    owner: str = ""
