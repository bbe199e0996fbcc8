"""The interface between a collection and an installation: all repositories that share a store, and
their references to objects.

It is implemented over a key-value store (`stored`) and over a server (`served`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.model.repositories.repository import Repository
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.installations.gc_roots import ActiveCommit, ExpiredCommit, Roots
from anabranch.pipelines.garbage.installations.stored_table_records import StoredTableRecords
from anabranch.versioning.garbage.removal_counts import NamespaceSweeps

__all__ = ["Installation", "StagedRows"]


class StagedRows(NamedTuple):
    """Staged entries of a branch: `paths`, and `addresses` relative to the collected namespace."""

    repository: str
    branch: str
    paths: pa.StringArray
    addresses: pa.StringArray


class Installation(Protocol):
    """All repositories. Methods may return cached results if their docstring does not say that the
    result is uncached.
    """

    def run_id(self) -> str:
        """Returns a new id for a run, which sorts before all earlier ones."""

    def repository(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound."""

    def repositories(self) -> Iterable[Repository]:
        """Yields all repositories, then those that were deleted and can be restored, uncached. A
        server lists of the latter what is in the collected namespace with uncommitted addresses.
        """

    def exists(self, repository: Repository) -> bool:
        """Returns whether one of these repositories is still there, uncached."""

    def rules(self, repository: Repository) -> RetentionRules | None:
        """Returns a repository's retention rules, or None."""

    def uncommitted_hashes(self, collected: Repository, namespace: Namespace) -> Iterator[Hashes]:
        """Yields the sorted hashes of addresses in the collected namespace that were recently
        restored, or that multipart uploads and staged changes of any repository reference;
        uncached, staged changes last.
        """

    def roots(self, repository: Repository, now: float) -> Roots:
        """Returns a repository's roots, uncached; `now` is in seconds since 1970. Raises Gone for a
        missing commit that is referenced, also if the repository is being deleted.
        """

    def staged_entries(
        self, collected: Repository, namespace: Namespace
    ) -> Iterable[StagedRows] | None:
        """Returns the staged entries of all repositories with addresses in the collected namespace,
        each staging area separately; None if they are unknown. Raises Corrupt.
        """

    @property
    def table_records(self) -> StoredTableRecords | None:
        """The records of tables of all repositories; None if they are not known."""

    def active_commits(self, repository: Repository, now: float) -> Iterable[ActiveCommit]:
        """Returns the active commits, those with references first, uncached; `now` is in seconds
        since 1970.
        """

    def expired_commits(self, repository: Repository, now: float) -> Iterable[ExpiredCommit]:
        """Returns the expired commits; `now` is in seconds since 1970."""

    def old_uploads(self, repository: Repository, before: float) -> Sequence[Upload]:
        """Returns a repository's unfinished multipart uploads that began before a time, in seconds
        since 1970; an empty sequence if they are unknown.
        """

    def end_upload(self, repository: Repository, upload: Upload) -> bool:
        """Aborts an upload and removes its parts; returns False if it had already ended."""

    def sweeps_of(self, repository: Repository) -> NamespaceSweeps:
        """Returns the sweeps of a repository."""

    def begin_sweep(self, repository: Repository, sweep: str) -> None:
        """Registers a sweep; `versioning.garbage.sweeps` describes the protocol."""

    def renew_sweep(self, repository: Repository, sweep: str) -> None:
        """Renews a sweep's lease. Raises Conflict if it has expired."""

    def record_expired(self, repository: Repository, sweep: str) -> None:
        """Records the trees of the expired commits of all repositories, before the sweep removes
        objects of them.
        """

    def add_tombstones(self, repository: Repository, sweep: str, addresses: Sequence[str]) -> None:
        """Writes tombstones of full addresses, which cannot be referenced from then on."""

    def claim_removed(
        self, repository: Repository, sweep: str, addresses: Sequence[str]
    ) -> Sequence[bool]:
        """Returns for each full address whether the sweep counts its object, which it has found and
        removed; `versioning.garbage.removal_counts` describes the protocol.
        """

    def remove_tombstones(self, repository: Repository, sweep: str) -> None:
        """Removes all tombstones of a sweep."""

    def end_sweep(self, repository: Repository, sweep: str) -> None:
        """Removes a sweep and its tombstones."""

    def ranges(self, repository: Repository, metarange_id: str) -> list[kernel.RangeInfo]:
        """Returns the ranges of a tree. Raises Gone, Corrupt."""

    def locate(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table's local file. Raises Gone, Corrupt."""
