"""The record of trees whose objects a sweep may have removed: those of expired commits.

A sweep adds to it before it removes anything, after each pass over the references: a commit that is
expired then loses its objects, if nothing else refers to them. While a sweep runs, no reference to
such a commit is created (see `pins`). Afterwards, a reference to a tree in this record is created
only if its objects are still stored: many are, because other commits have them, or because they
were restored from quarantine.

Records are kept by storage namespace, so that they outlive the repository: another one can be
created on its namespace, and the old references restored.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from anabranch import _kernel as kernel
from anabranch.brevity import about_to_take_long
from anabranch.errors import CommitExpired
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.garbage.retention import CommitGraphs
from anabranch.versioning.garbage.stored_rules import StoredRules
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, SweepRecords
from anabranch.versioning.garbage.tree_admission import TreeAdmission
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.references.branches import Branches

__all__ = ["SweptTrees"]

_PARTITION = "anabranch-swept"
_BATCH = 1000


class SweptTrees:
    """The recorded trees of all storage namespaces. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        sweeps: SweepRecords,
        rules: StoredRules,
        commits: Commits,
        branches: Branches,
        admission: TreeAdmission,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._sweeps = sweeps
        self._rules = rules
        self._commits = commits
        self._branches = branches
        self._admission = admission
        self._clock = clock

    def record(self, repository: Repository, graphs: CommitGraphs | None = None) -> None:
        """Records the trees of a repository that no active commit has. `graphs` are commits that
        were read before. Raises Gone for a missing commit that is referenced, Corrupt.
        """
        # a clock ahead of every collector's: what any of them treats as expired is recorded
        now = self._clock() + 2 * CLOCK_SKEW_SECONDS
        trees = iter(self._rules.expired_trees(repository, now, graphs))
        while batch := list(islice(trees, _BATCH)):
            row_keys = [_key(repository, tree) for tree in batch]
            known = self._keyvalue.get_many(_PARTITION, row_keys)
            new = [key for key, raw in zip(row_keys, known, strict=True) if raw is None]
            if new:
                self._keyvalue.apply([Write(_PARTITION, key, b"-") for key in new])

    def has(self, repository: Repository, metarange_id: str) -> bool:
        """Returns whether a sweep may have removed objects of a tree."""
        if not self._sweeps.begun_count():
            return False
        return self._keyvalue.get(_PARTITION, _key(repository, metarange_id)) is not None

    def require_commit(self, repository: Repository, commit_id: str) -> None:
        """Raises as `require_stored` does for the tree of a commit."""
        if self._sweeps.begun_count():
            tree = self._commits.get(repository, commit_id).metarange_id
            self.require_stored(repository, tree, what=f"commit {commit_id}")

    def require_stored(
        self, repository: Repository, metarange_id: str, *, prefix: bytes = b"", what: str = ""
    ) -> None:
        """Raises CommitExpired if a sweep has removed an object of a tree under a
        prefix. `what` is the name of the tree in messages. Objects of the default branch exist.
        """
        if not self.has(repository, metarange_id):
            return
        about_to_take_long()
        missing = self._admission.missing_object(
            repository, self._stored_tree(repository), metarange_id, prefix
        )
        if missing:
            raise CommitExpired(
                f"{what or f'tree {metarange_id}'} has expired, and garbage collection has removed "
                f"objects of it: {missing}",
                removed=True,
                hint="Nothing referred to it for longer than the retention rules say. Restore the "
                "objects from quarantine, if the sweep used it (anabranch gc restore).",
            )

    def _stored_tree(self, repository: Repository) -> str:
        """Returns a tree whose objects are not removed, to compare others with."""
        stored = self._branches.find(repository, repository.default_branch)
        if stored is None:
            return kernel.EMPTY_TREE_ID
        tree = self._commits.get(repository, stored.branch.commit_id).metarange_id
        return kernel.EMPTY_TREE_ID if self.has(repository, tree) else tree


def _key(repository: Repository, metarange_id: str) -> bytes:
    namespace = repository.storage_namespace.rstrip("/")
    return f"{namespace}/{metarange_id}".encode("utf-8", "surrogateescape")
