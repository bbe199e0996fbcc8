"""The installation whose references are in a key-value store that this process has opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.garbage.sweeps import Sweep
from anabranch.errors import Corrupt
from anabranch.errors.dependency_errors import reason_of
from anabranch.model.repositories.repository import Repository
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.column_hashes import Hashes, distinct, hash_addresses
from anabranch.pipelines.garbage.addresses.address_index import index_tree
from anabranch.pipelines.garbage.addresses.namespace import AddressResolver, Namespace
from anabranch.pipelines.garbage.installations.gc_roots import (
    ActiveCommit,
    ExpiredCommit,
    Roots,
    StagedRows,
    collect_active_commits,
    collect_expired_commits,
    collect_roots,
    restored_addresses,
    staging_areas,
    upload_addresses,
)
from anabranch.pipelines.garbage.installations.table_records import StoredTableRecords
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.removal_counts import NamespaceSweeps
from anabranch.versioning.garbage.retention import CommitGraphs
from anabranch.versioning.garbage.stored_rules import RepositoryCommits
from anabranch.versioning.trees.trees import translate_errors

__all__ = ["StoredInstallation"]

_AREAS_AT_ONCE = 1000


class StoredInstallation:
    """The installation of a core, with its block store."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks
        self._graphs = CommitGraphs()

    def run_id(self) -> str:
        """Returns a new id for a run, which sorts before all earlier ones."""
        return self._core.identifiers.descending_xid()

    def repository(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound."""
        return self._core.repositories.get(name)

    def repositories(self) -> Iterable[Repository]:
        """Yields all repositories, then those that were deleted and can be restored, uncached."""
        return self._core.repositories.kept()

    def exists(self, repository: Repository) -> bool:
        """Returns whether a repository is there, or was deleted and can be restored, uncached."""
        return self._core.repositories.exists(repository)

    def rules(self, repository: Repository) -> RetentionRules | None:
        """Returns a repository's retention rules, or None. Raises Corrupt."""
        return self._core.rules.find(repository)

    def uncommitted_hashes(
        self,
        collected: Repository,  # noqa: ARG002  only its namespace matters
        namespace: Namespace,
    ) -> Iterator[Hashes]:
        """Yields the sorted hashes of addresses in the collected namespace that were recently
        restored, or that multipart uploads and staged changes of any repository reference;
        uncached, staged changes last.
        """
        yield hash_addresses(pa.array(restored_addresses(self._core, namespace), pa.string()))
        yield hash_addresses(pa.array(upload_addresses(self._core, namespace), pa.string()))
        self._core.repositories.forget_old()
        for repository in self._core.repositories.kept():
            # what can no longer be undone is not kept
            self._core.operation_retention.compact(repository)
            yield from self._staged_hashes(repository, namespace.resolver(repository))

    def roots(self, repository: Repository, now: float) -> Roots:
        """Returns a repository's roots, uncached; `now` is in seconds since 1970. Raises Gone for a
        missing commit that is referenced, also if the repository is being deleted.
        """
        return collect_roots(*self._commits(repository, now))

    def staged_entries(
        self,
        collected: Repository,  # noqa: ARG002  only its namespace matters
        namespace: Namespace,
    ) -> Iterator[StagedRows]:
        """Yields the staged entries of all repositories with addresses in the collected namespace,
        each staging area separately. Raises Corrupt.
        """
        for repository in self._core.repositories.kept():
            resolver = namespace.resolver(repository)
            for branch in staging_areas(self._core, repository):
                for token in branch.tokens:
                    yield from self._staged_rows(repository, branch.id, token, resolver)

    def table_records(self, collected: Repository) -> StoredTableRecords:  # noqa: ARG002
        """Returns the records of tables of all repositories that commits do not have."""
        return StoredTableRecords(self._core)

    def active_commits(self, repository: Repository, now: float) -> Iterable[ActiveCommit]:
        """Returns the active commits, those with references first, uncached. Raises Gone."""
        return collect_active_commits(*self._commits(repository, now))

    def expired_commits(self, repository: Repository, now: float) -> Iterable[ExpiredCommit]:
        """Returns the expired commits. Raises Gone."""
        rules = self.rules(repository)
        commits = self._core.rules.read_commits(repository, rules, now, graphs=self._graphs)
        return collect_expired_commits(commits, repository.default_branch)

    def old_uploads(self, repository: Repository, before: float) -> Sequence[Upload]:
        """Returns a repository's unfinished multipart uploads that began before a time."""
        uploads = (upload for upload in self._core.uploads.all() if upload.creation_date < before)
        return [
            upload
            for upload in uploads
            if upload.partition == repository.partition
            and self._core.uploads.find(repository, upload.id) is not None
        ]

    def end_upload(self, repository: Repository, upload: Upload) -> bool:
        """Aborts an upload and removes its parts. An upload that is completed concurrently is
        either aborted or completed, not both. If only the store has completed it, its object is
        left to later runs, because a client may have staged its address.
        """
        stored = self._core.uploads.find(repository, upload.id)
        if stored is None or not self._core.uploads.abandon(stored):
            return False
        self._blocks.abort_upload(upload.block, upload.id)
        self._core.uploads.forget_checksums(upload)
        return True

    def sweeps_of(self, repository: Repository) -> NamespaceSweeps:
        """Returns the sweeps of a repository."""
        return self._core.removal_counts.sweeps_of(repository.storage_namespace)

    def sweep(self, repository: Repository, sweep: str) -> Sweep:
        """Returns what is done to the records of a sweep of a repository."""
        return Sweep(self._core, repository.storage_namespace, sweep, self._graphs)

    def ranges(self, repository: Repository, metarange_id: str) -> list[kernel.RangeInfo]:
        """Returns the ranges of a tree. Raises Gone, Corrupt."""
        with translate_errors():
            return self._core.trees.open(repository, metarange_id).ranges()

    def locate(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table's local file. Raises Gone, Corrupt."""
        return self._core.trees.locate(repository, table_id)

    def _commits(self, repository: Repository, now: float) -> tuple[RepositoryCommits, set[str]]:
        """Returns a repository's commits, and the pinned ones, which are read first."""
        rules = self.rules(repository)
        pinned = self._core.pins.commits(repository)
        commits = self._core.rules.read_commits(repository, rules, now, pinned, self._graphs)
        return commits, pinned

    def _staged_hashes(self, repository: Repository, resolver: AddressResolver) -> Iterator[Hashes]:
        """Yields the hashes of the addresses in staging areas."""
        areas = (
            (branch.id, token)
            for branch in staging_areas(self._core, repository)
            for token in branch.tokens
        )
        while batch := list(islice(areas, _AREAS_AT_ONCE)):
            try:
                yield self._area_hashes(repository, batch, resolver)
            except Corrupt:  # the error of one of them names its branch
                for area in batch:
                    yield self._area_hashes(repository, [area], resolver)

    def _staged_rows(
        self, repository: Repository, branch: str, token: str, resolver: AddressResolver
    ) -> Iterator[StagedRows]:
        rows = self._core.staging.rows([token])
        with (
            _translate_staging_errors(repository, branch),
            self._core.trees.overlaid(repository, kernel.EMPTY_TREE_ID, rows) as tree,
        ):
            for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                for paths, addresses in resolver.resolve_batch(batch):
                    yield StagedRows(repository.id, branch, paths, addresses)

    def _area_hashes(
        self, repository: Repository, areas: Sequence[tuple[str, str]], resolver: AddressResolver
    ) -> Hashes:
        """Returns the hashes of the addresses in staging areas, each given by its branch and its
        token. An entry counts even if a newer area has its path: it is committed nevertheless. So
        paths are made different by the number of their area.
        """
        rows = (
            (b"%08d/%b" % (number, key), record)
            for number, (_, token) in enumerate(areas)
            for key, record in self._core.staging.rows([token])
        )
        branch, empty = areas[0][0], kernel.EMPTY_TREE_ID
        with _translate_staging_errors(repository, branch):
            first = next(rows, None)
            if first is None:  # as in most repositories
                return distinct([])
            staged = chain((first,), rows)
            with self._core.trees.overlaid(repository, empty, staged) as tree:
                return index_tree(tree, resolver, f"staged changes of branch {branch}")[0]


@contextmanager
def _translate_staging_errors(repository: Repository, branch: str) -> Iterator[None]:
    """Raises Corrupt with the branch's name for a staged change that cannot be read."""
    try:
        yield
    except (kernel.KernelError, pa.ArrowInvalid) as error:
        raise Corrupt(
            f"a staged change on branch {branch} of {repository.id} cannot be read: "
            f"{reason_of(error)}"
        ) from error
