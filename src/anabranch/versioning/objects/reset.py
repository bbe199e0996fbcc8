"""Reset: discards a branch's uncommitted changes, all of them or those at some paths. The operation
log keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch.errors import Invalid
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.names import check_path, encode_path
from anabranch.model.page import upper_bound
from anabranch.model.references.branch import Branch, ResetKind
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.objects.kept_changes import MAX_KEPT, KeptChanges
from anabranch.versioning.objects.objects import Objects
from anabranch.versioning.operations.logging_store import LoggingStore
from anabranch.versioning.references.branches import Branches
from anabranch.versioning.staging.area import Row, Staging
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["Reset"]

_BATCH_SIZE = 1000


class Reset:
    """Resets branches."""

    def __init__(
        self,
        keyvalue: LoggingStore,
        identifiers: Identifiers,
        branches: Branches,
        staging: Staging,
        objects: Objects,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._clock = clock
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
        """Discards the changes with start <= key < end, batch by batch. The operation log keeps
        them, unless they are too many.
        """
        is_one = end == start + b"\x00"
        too_many = not is_one and self._has_more(repository, name, start, end)
        given_up_at = self._clock() if too_many else 0
        kept = KeptChanges(self._keyvalue, self._identifiers, repository, given_up_at)
        position: bytes | None = start
        while position is not None:
            position = self._reset_batch(repository, name, position, end, kept)

    def _has_more(self, repository: Repository, name: str, start: bytes, end: bytes | None) -> bool:
        """Returns whether there are more changes than an operation keeps."""
        tokens = self._branches.read(repository, name).branch.tokens
        rows = self._staging.rows(tokens, start, end, limit=MAX_KEPT + 1)
        return sum(1 for _ in rows) > MAX_KEPT

    def _reset_batch(
        self, repository: Repository, name: str, start: bytes, end: bytes | None, kept: KeptChanges
    ) -> bytes | None:
        """Discards a batch; returns the key where the next one starts, None after the last."""
        size = _BATCH_SIZE
        for stored in self._branches.attempts(repository, name):
            branch = stored.branch
            rows, last = self._staging.chunk(branch.tokens, start, end, size)
            if not rows:
                return None
            writes, conditions = self._discarded(repository, branch, rows, kept)
            if self._branches.apply(repository, stored, writes, conditions):
                break
            size = max(size // 2, 1)  # fewer are less likely to change meanwhile
        return None if last else rows[-1][0] + b"\x00"

    def _discarded(
        self, repository: Repository, branch: Branch, rows: Sequence[Row], kept: KeptChanges
    ) -> ExtraWrites:
        """Returns the writes that discard rows of a branch and keep them, if they are unchanged."""
        restored = [(row, self._restoration(repository, branch, row[0])) for row in rows]
        # a committed value that a reset has staged is none of the user's changes
        changed = [(row, write) for row, write in restored if write.value != row[1]]
        if not changed:
            return (), ()
        active = branch.staging_token
        found = self._keyvalue.get_many(active, [key for (key, _), _ in changed])
        unchanged = [
            Expect(active, write.key, raw) for (_, write), raw in zip(changed, found, strict=True)
        ]
        writes = [write for _, write in changed]
        instead = [each for each in writes if each.value is not None]
        moved, conditions = kept.moved(branch, [row for row, _ in changed], instead)
        return [*writes, *moved], [*unchanged, *conditions]

    def _restoration(self, repository: Repository, branch: Branch, key: bytes) -> Write:
        """Returns the write that restores a key's committed value. A change in a sealed area, which
        is never written to, is overlaid with the committed value.
        """
        if self._staging.get(branch.sealed_tokens, key) is None:
            return self._staging.remove(branch.staging_token, key)
        committed = self._objects.committed(repository, branch.commit_id, key)
        return self._staging.write(branch.staging_token, key, committed)
