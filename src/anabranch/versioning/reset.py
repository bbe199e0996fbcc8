"""Reset: takes a branch's uncommitted changes back, all of them or those at some paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from anabranch.errors import Invalid
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.branch import Branch
from anabranch.model.names import check_path, key_of
from anabranch.model.page import upper_bound
from anabranch.model.repository import Repository
from anabranch.versioning.branches import Branches, StoredBranch
from anabranch.versioning.cleanup import discard
from anabranch.versioning.objects import Objects
from anabranch.versioning.staging import Staging

__all__ = ["Reset", "ResetKind"]

ResetKind = Literal["reset", "common_prefix", "object"]
_BATCH = 1000


class Reset:
    """Resets branches. `clock` gives seconds since 1970."""

    def __init__(
        self,
        branches: Branches,
        staging: Staging,
        objects: Objects,
        clock: Callable[[], float],
    ) -> None:
        self._branches = branches
        self._staging = staging
        self._objects = objects
        self._clock = clock

    def reset(self, repository: Repository, branch: str, kind: ResetKind, path: str = "") -> None:
        """Takes back all changes ("reset"), those under a prefix, or one object's.

        Raises Invalid for another kind, and for a path that cannot be.
        """
        if kind == "reset":
            self._all(repository, branch)
        elif kind == "common_prefix":
            start = key_of(path)
            self._between(repository, branch, start, upper_bound(start))
        elif kind == "object":
            check_path(path)
            self._between(repository, branch, key_of(path), key_of(path) + b"\x00")
        else:
            raise Invalid("unknown reset type", kind="invalid_reset_type")

    def _all(self, repository: Repository, name: str) -> None:
        def step(stored: StoredBranch) -> tuple[Sequence[Write], Sequence[Expect]]:
            emptied = self._branches.emptied(repository, stored.branch)
            let_go = discard(stored.branch.tokens, self._clock())
            return [self._branches.write(repository, emptied), *let_go], []

        self._branches.update(repository, name, step)

    def _between(self, repository: Repository, name: str, start: bytes, end: bytes | None) -> None:
        """Takes back the changes with start <= key < end, batch by batch."""
        reached: bytes | None = start
        while reached is not None:
            reached = self._batch(repository, name, reached, end)

    def _batch(
        self, repository: Repository, name: str, start: bytes, end: bytes | None
    ) -> bytes | None:
        """Takes back a batch; returns where the next one starts, None if it was the last."""
        reached: bytes | None = None

        def step(stored: StoredBranch) -> tuple[Sequence[Write], Sequence[Expect]]:
            nonlocal reached
            rows, last = self._staging.chunk(stored.branch.tokens, start, end, _BATCH)
            reached = None if last or not rows else rows[-1][0] + b"\x00"
            return [self._restoration(repository, stored.branch, key) for key, _ in rows], []

        self._branches.update(repository, name, step)
        return reached

    def _restoration(self, repository: Repository, branch: Branch, key: bytes) -> Write:
        """Returns the write that leaves a key as committed: what lies in a sealed area, where
        nothing is ever written, is covered by what the commit holds, so that it is no change.
        """
        if self._staging.get(branch.sealed_tokens, key) is None:
            return self._staging.remove(branch.staging_token, key)
        committed = self._objects.committed(repository, branch.commit_id, key)
        return self._staging.write(branch.staging_token, key, committed)
