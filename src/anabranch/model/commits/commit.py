"""Commits: trees of entries with their parents and metadata."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

__all__ = ["COMMIT_VERSION", "INITIAL_MESSAGE", "Commit", "CommitFields"]

COMMIT_VERSION = 1
"""Since version 1 the first parent of a merge is its destination (as in git)."""

INITIAL_MESSAGE = "Repository created"


class CommitFields(msgspec.Struct, frozen=True):
    """What the record of a new commit says, apart from its tree and parents. `date` is in seconds
    since 1970, None for the present time.
    """

    committer: str
    message: str = ""
    metadata: Mapping[str, str] = {}
    date: int | None = None


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit; `id` is the digest of the other fields except version, generation and nanos.

    `creation_date` is in seconds since 1970; `nanos` is the fraction of a second in nanoseconds,
    used only to order logs. `generation` is 1 for the initial commit, otherwise one more than the
    highest of the parents.
    """

    id: str
    committer: str
    message: str
    creation_date: int
    metarange_id: str
    parents: tuple[str, ...] = ()
    metadata: dict[str, str] = {}
    version: int = COMMIT_VERSION
    generation: int = 1
    nanos: int = 0

    @property
    def is_merge(self) -> bool:
        """Whether it has more than one parent."""
        return len(self.parents) > 1
