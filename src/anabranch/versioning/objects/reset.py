"""Reset: discards a branch's uncommitted changes, all of them or those at some paths."""

from __future__ import annotations

from anabranch.errors import Invalid
from anabranch.keyvalue.contract import Write
from anabranch.model.names import check_path, encode_path
from anabranch.model.page import upper_bound
from anabranch.model.references.branch import Branch, ResetKind
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.objects.objects import Objects
from anabranch.versioning.references.branches import Branches
from anabranch.versioning.staging.area import Staging

__all__ = ["Reset"]

_BATCH_SIZE = 1000


class Reset:
    """Resets branches."""

    def __init__(
        self,
        branches: Branches,
        staging: Staging,
        objects: Objects,
    ) -> None:
        self._branches = branches
        self._staging = staging
        self._objects = objects

    def reset(self, repository: Repository, branch: str, kind: ResetKind, path: str = "") -> None:
        """Discards all changes ("reset"), those under a prefix, or those of one object.

        Raises Invalid for another kind and for an invalid path.
        """
        if kind == "reset":
            self._reset_all(repository, branch)
        elif kind == "common_prefix":
            start = encode_path(path)
            self._reset_range(repository, branch, start, upper_bound(start))
        elif kind == "object":
            check_path(path)
            self._reset_range(repository, branch, encode_path(path), encode_path(path) + b"\x00")
        else:
            raise Invalid("unknown reset type", kind="invalid_reset_type")

    def _reset_all(self, repository: Repository, name: str) -> None:
        for stored in self._branches.attempts(repository, name):
            emptied = self._branches.empty(repository, stored.branch)
            write = self._branches.write(repository, emptied)
            if self._branches.apply(repository, stored, [write]):  # the log keeps the old areas
                return

    def _reset_range(
        self, repository: Repository, name: str, start: bytes, end: bytes | None
    ) -> None:
        """Discards the changes with start <= key < end, batch by batch."""
        position: bytes | None = start
        while position is not None:
            position = self._reset_batch(repository, name, position, end)

    def _reset_batch(
        self, repository: Repository, name: str, start: bytes, end: bytes | None
    ) -> bytes | None:
        """Discards a batch; returns the key where the next one starts, None after the last."""
        for stored in self._branches.attempts(repository, name):
            rows, last = self._staging.chunk(stored.branch.tokens, start, end, _BATCH_SIZE)
            writes = [self._restoration(repository, stored.branch, key) for key, _ in rows]
            if self._branches.apply(repository, stored, writes):
                break
        return None if last or not rows else rows[-1][0] + b"\x00"

    def _restoration(self, repository: Repository, branch: Branch, key: bytes) -> Write:
        """Returns the write that restores a key's committed value. A change in a sealed area, which
        is never written to, is overlaid with the committed value.
        """
        if self._staging.get(branch.sealed_tokens, key) is None:
            return self._staging.remove(branch.staging_token, key)
        committed = self._objects.committed(repository, branch.commit_id, key)
        return self._staging.write(branch.staging_token, key, committed)
