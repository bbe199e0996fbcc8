"""The state of a long-running job."""

from __future__ import annotations

import msgspec

from anabranch.model.commits.commit import Commit

__all__ = ["JobStatus"]


class JobStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a job: `progress` objects were processed, `updated_at` is in seconds since 1970.
    A job ends with a commit, `completed`, or with an `error`, never with both. Asynchronous commits
    and merges also have their `branch`, and of their error the HTTP status, the kind and the hint.
    """

    id: str
    updated_at: float
    completed: bool = False
    progress: int = 0
    metarange_id: str = ""
    commit: Commit | None = None
    error: str = ""
    status_code: int = 0
    error_kind: str = ""
    error_hint: str = ""
    branch: str = ""

    @property
    def ended(self) -> bool:
        """Whether the job is complete or has failed."""
        return self.completed or bool(self.error)
