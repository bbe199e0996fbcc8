"""Imports: what to bring in from where, and how far that has come."""

from __future__ import annotations

from typing import Literal

import msgspec

from anabranch.model.commit import Commit

__all__ = ["ImportSource", "ImportStatus"]


class ImportSource(msgspec.Struct, frozen=True, kw_only=True):
    """What lies at an address (`object`), or at all that begin with it (`common_prefix`), and the
    object's path on the branch, or the prefix of their paths.
    """

    type: Literal["common_prefix", "object"]
    path: str
    destination: str


class ImportStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far an import has come: `progress` objects were found, `updated_at` in seconds since
    1970. It ends with a commit, `completed`, or with an `error`, never with both.
    """

    id: str
    updated_at: float
    completed: bool = False
    progress: int = 0
    metarange_id: str = ""
    commit: Commit | None = None
    error: str = ""

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.completed or bool(self.error)
