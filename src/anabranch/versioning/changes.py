"""Changes made to a branch: objects staged, replaced, deleted, each in one step.

A step reads the branch, decides, and writes on condition that the branch is still as it was read;
where a commit came between, it decides again. So a change lands either before a commit, and is in
it, or after, and is over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from anabranch.errors import AnabranchError, PreconditionFailed
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.branch import Branch
from anabranch.model.entry import Entry
from anabranch.model.names import check_path, key_of
from anabranch.model.repository import Repository
from anabranch.versioning.branches import Branches, StoredBranch
from anabranch.versioning.entries import entry_value
from anabranch.versioning.objects import Objects
from anabranch.versioning.references import Resolved
from anabranch.versioning.staging import Staging

__all__ = ["Beside", "Changes", "Refusal", "no_others"]

Refusal: TypeAlias = Callable[[Entry | None], AnabranchError | None]
"""Returns what is wrong with an entry, or with there being none; None if nothing is."""

_Decision = tuple[Sequence[Write], Sequence[Expect]]

Beside = Callable[[], _Decision]
"""Decides what else is to be written in the same step, and what that expects; it may be asked
again when another writer came first.
"""


def no_others() -> _Decision:
    """Decides on no other writes."""
    return (), ()


class Changes:
    """Stages changes on branches."""

    def __init__(self, branches: Branches, staging: Staging, objects: Objects) -> None:
        self._branches = branches
        self._staging = staging
        self._objects = objects

    def put(
        self,
        repository: Repository,
        branch: str,
        path: str,
        entry: Entry,
        *,
        if_absent: bool = False,
        beside: Beside = no_others,
        known: StoredBranch | None = None,
    ) -> None:
        """Stages an entry at a path, and makes the writes `beside` it in the same step. `known` is
        the branch as it was read before, if it was.

        Raises PreconditionFailed if there must be nothing there (`if_absent`) and there is.
        """
        check_path(path)
        key, value = key_of(path), entry_value(entry)

        def step(stored: StoredBranch) -> _Decision:
            token = stored.branch.staging_token
            writes, expect = beside()
            if if_absent:
                expect = [*expect, self._staging.unchanged(token, key)]
            if if_absent and self._objects.value(repository, _view(stored), path) is not None:
                raise PreconditionFailed("path already exists", kind="path_already_exists")
            return [*writes, self._staging.write(token, key, value)], expect

        # what is there must be asked of the branch as it is now
        self._branches.update(repository, branch, step, None if if_absent else known)

    def replace(
        self,
        repository: Repository,
        branch: str,
        path: str,
        change: Callable[[Entry | None], Entry],
        *,
        beside: Beside = no_others,
    ) -> Entry:
        """Stages what `change` makes of the entry at a path, and returns it; makes the writes
        `beside` it in the same step.

        `change` is given None when there is no entry, and may be called again when another
        writer came first.
        """
        check_path(path)
        key = key_of(path)
        made: list[Entry] = []

        def step(stored: StoredBranch) -> _Decision:
            token = stored.branch.staging_token
            writes, expect = beside()
            unchanged = self._staging.unchanged(token, key)
            made[:] = [change(self._objects.entry_at(repository, _view(stored), path))]
            written = self._staging.write(token, key, entry_value(made[0]))
            return [*writes, written], [*expect, unchanged]

        self._branches.update(repository, branch, step)
        return made[0]

    def delete(
        self,
        repository: Repository,
        branch: str,
        paths: Iterable[str],
        refusals: Mapping[str, Refusal] = MappingProxyType({}),
        known: StoredBranch | None = None,
    ) -> dict[str, AnabranchError]:
        """Deletes objects, all in one step; those that are not there are passed over. `known` is
        the branch as it was read before, if it was.

        A path in `refusals` is deleted only if that finds nothing wrong with the entry at it, of
        which it is sure that it is still there when it is deleted; it may be asked several times.
        Returns the paths that were not deleted, and why.
        """
        wanted = sorted(set(paths))
        for path in wanted:
            check_path(path)
        refused: dict[str, AnabranchError] = {}

        def step(stored: StoredBranch) -> _Decision:
            refused.clear()
            expect = [
                self._staging.unchanged(stored.branch.staging_token, key_of(path))
                for path in wanted
                if path in refusals
            ]
            for path, refusal in refusals.items():
                wrong = refusal(self._objects.entry_at(repository, _view(stored), path))
                if wrong is not None:
                    refused[path] = wrong
            left = [key_of(path) for path in wanted if path not in refused]
            decided = [self._deletion(repository, stored.branch, key) for key in left]
            return [write for write in decided if write is not None], expect

        self._branches.update(repository, branch, step, known)
        return refused

    def _deletion(self, repository: Repository, branch: Branch, key: bytes) -> Write | None:
        """Returns the write that deletes a key: a tombstone where something lies beneath, the
        removal of the staged change where nothing does, or None where there is nothing at all.
        """
        sealed = self._staging.get(branch.sealed_tokens, key)
        beneath = (
            sealed.value
            if sealed is not None
            else self._objects.committed(repository, branch.commit_id, key)
        )
        token = branch.staging_token
        if beneath is not None:
            return self._staging.write(token, key, None)
        if self._staging.get((token,), key) is not None:
            return self._staging.remove(token, key)
        return None


def _view(stored: StoredBranch) -> Resolved:
    return Resolved(stored.branch.commit_id, stored)
