"""An installation: all repositories that share stores, and what in them refers to objects.

A collection asks nothing else of what keeps references, be that a database (`stored_installation`)
or a server (`served_installation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.model.repository import Repository
from anabranch.model.retention import RetentionRules
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.column_hashes import Hashes
from anabranch.pipelines.garbage.addresses.namespace import Namespace
from anabranch.pipelines.garbage.installations.gc_roots import Active, ExpiredCommits, Roots

__all__ = ["Installation", "StagedRows"]


class StagedRows(NamedTuple):
    """Staged entries of a branch: `paths`, and `addresses` relative to the collected namespace."""

    repository: str
    branch: str
    paths: pa.StringArray
    addresses: pa.StringArray


class Installation(Protocol):
    """All repositories. A method that is not said to look anew may answer from what it knows."""

    def run_id(self) -> str:
        """Returns a new name for a run, which sorts before all earlier ones."""

    def repository(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound."""

    def repositories(self) -> Iterable[Repository]:
        """Yields all repositories, looking anew."""

    def rules(self, repository: Repository) -> RetentionRules | None:
        """Returns a repository's rules, None without."""

    def uncommitted(self, collected: Repository, namespace: Namespace) -> Iterator[Hashes]:
        """Yields the hashes of addresses in the namespace of the collected repository that were
        restored a while ago, or that uploads in parts and staged changes name, those of any
        repository; looking anew, staged changes last.
        """

    def roots(self, repository: Repository, now: float) -> Roots:
        """Returns what a repository's references reach, looking anew; `now` in seconds since 1970.
        Raises Gone for a commit that is named and not there, also where a repository is deleted
        meanwhile.
        """

    def staged(self, collected: Repository, namespace: Namespace) -> Iterable[StagedRows] | None:
        """Returns the staged entries of all repositories with addresses in the namespace of
        the collected one, each staging area by itself; None where they are not known. Raises
        Corrupt.
        """

    def active(self, repository: Repository, now: float) -> Iterable[Active]:
        """Returns the active commits, looking anew; `now` in seconds since 1970."""

    def past(self, repository: Repository, now: float) -> Iterable[ExpiredCommits]:
        """Returns the commits that are active no more."""

    def old_uploads(self, repository: Repository, before: float) -> Sequence[Upload]:
        """Returns a repository's uploads in parts that began before a time, in seconds since 1970,
        and have not ended; none if that is unknown.
        """

    def end_upload(self, repository: Repository, upload: Upload) -> bool:
        """Ends an upload and removes its parts; returns whether it had not ended meanwhile."""

    def begin_sweep(self, repository: Repository, sweep: str) -> None:
        """Enters a sweep; see `versioning.sweeps` for all that begins with this."""

    def renew_sweep(self, repository: Repository, sweep: str) -> None:
        """Renews a sweep's lease. Raises Conflict if it has lost it."""

    def condemn(self, repository: Repository, sweep: str, addresses: Sequence[str]) -> None:
        """Writes tombstones of full addresses, which nothing can refer to anew from then on."""

    def spare(self, repository: Repository, sweep: str) -> None:
        """Removes all tombstones of a sweep."""

    def end_sweep(self, repository: Repository, sweep: str) -> None:
        """Removes a sweep and its tombstones."""

    def ranges(self, repository: Repository, metarange_id: str) -> list[kernel.RangeInfo]:
        """Returns the ranges of a tree. Raises Gone, Corrupt."""

    def locate(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table's file on this machine. Raises Gone, Corrupt."""
