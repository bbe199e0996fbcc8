"""What the keys of workspaces have read, by path and commit: the inputs of a proposal.

Reads are collected in memory, each path once for each commit, and stored every few seconds and with
a proposal. So a read costs no write; those of the last seconds of a server that is killed are lost,
and so are those that another server has not stored yet when a proposal is made.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from anabranch.errors import AnabranchError, Gone, NotFound
from anabranch.model.references.expression import branch_of
from anabranch.model.references.workspace import WorkspaceRead, WorkspaceReads
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["FLUSH_SECONDS", "ReadRecorder"]

FLUSH_SECONDS = 2.0
"""How often reads are stored."""

_MAX_WAITING = 100_000
"""The most reads that wait in one process; further ones are counted alone."""


class _Place(NamedTuple):
    """A workspace; a later one of its name has another access key."""

    repository: str
    branch: str
    access_key_id: str


class ReadRecorder:
    """Records the reads of all workspaces. Thread-safe."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._storing = threading.Lock()
        self._waiting: dict[_Place, dict[WorkspaceRead, None]] = {}
        self._amount = 0
        self._left_out: dict[_Place, int] = {}

    def note(
        self,
        repository: str,
        branch: str,
        reference: str,
        paths: Iterable[str],
        access_key_id: str = "",
    ) -> None:
        """Records that paths were read in the workspace of a branch, by its access key, at a
        reference within its reach.
        """
        place = _Place(repository, branch, access_key_id)
        commit_id = reference
        if branch_of(reference) == branch:
            stored = self._core.repositories.get(repository)
            commit_id = self._core.branches.read(stored, branch).branch.commit_id
        with self._lock:
            reads = self._waiting.setdefault(place, {})
            for path in paths:
                read = WorkspaceRead(path, commit_id)
                if read in reads:
                    continue
                if self._amount >= _MAX_WAITING:
                    self._left_out[place] = self._left_out.get(place, 0) + 1
                    continue
                reads[read] = None
                self._amount += 1

    def flush(self) -> None:
        """Stores what was collected, also what another thread is storing already. Raises what
        prevents that, and then tries again later.
        """
        with self._storing:
            self._flush()

    def _flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            left_out, self._left_out = self._left_out, {}
            self._amount = 0
        failed: AnabranchError | None = None
        for place, reads in waiting.items():
            try:
                self._store(place, list(reads), left_out.get(place, 0))
            except (NotFound, Gone):
                continue  # the workspace has ended
            except AnabranchError as error:
                failed = error
                self._put_back(place, reads, left_out.get(place, 0))
        if failed is not None:
            raise failed

    def _put_back(self, place: _Place, reads: dict[WorkspaceRead, None], left_out: int) -> None:
        with self._lock:
            again = self._waiting.setdefault(place, {})
            before = len(again)
            again.update(reads)
            self._amount += len(again) - before
            self._left_out[place] = self._left_out.get(place, 0) + left_out

    def _store(self, place: _Place, reads: list[WorkspaceRead], left_out: int) -> None:
        stored = self._core.repositories.get(place.repository)
        while True:
            writes, expect = self._core.workspaces.with_reads(
                *(stored, place.branch, reads, left_out, place.access_key_id)
            )
            if not writes or self._core.keyvalue.apply(writes, expect):
                return

    def of_workspace(self, repository: str, branch: str) -> WorkspaceReads:
        """Returns what the keys of a workspace have read. Raises NotFound."""
        self.flush()
        stored = self._core.repositories.get(repository)
        self._core.workspaces.read(stored, branch)
        return self._core.workspaces.reads(stored, branch)

    def of_pull(self, repository: str, pull_id: str) -> WorkspaceReads:
        """Returns what was read for the proposal that a pull request is; nothing for others."""
        stored = self._core.repositories.get(repository)
        self._core.pulls.read(stored, pull_id)
        return self._core.workspaces.reads_of_pull(stored, pull_id)

    def kept_with(self, repository: Repository, branch: str, pull_id: str) -> ExtraWrites:
        """Returns the write that keeps what a workspace has read with its pull request."""
        with suppress(AnabranchError):
            self.flush()
        return self._core.workspaces.reads_kept(repository, branch, pull_id)
