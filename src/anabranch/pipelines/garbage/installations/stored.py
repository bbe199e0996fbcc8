"""The installation whose references are in a key-value store that this process has open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt
from anabranch.model.repository import Repository
from anabranch.model.retention import RetentionRules
from anabranch.model.uploads.upload import Upload
from anabranch.pipelines.column_hashes import Hashes, hash_addresses
from anabranch.pipelines.garbage.addresses.address_index import index_tree
from anabranch.pipelines.garbage.addresses.namespace import Namespace, Reading
from anabranch.pipelines.garbage.installations.gc_roots import (
    Active,
    ExpiredCommits,
    Roots,
    collect_active,
    collect_expired,
    collect_roots,
    restored_addresses,
    staging_areas,
    upload_addresses,
)
from anabranch.pipelines.garbage.installations.installation import StagedRows
from anabranch.versioning.core import Core
from anabranch.versioning.trees import translate_errors

__all__ = ["StoredInstallation"]


class StoredInstallation:
    """The installation of `core`; the rules are stored in `blocks`."""

    def __init__(self, core: Core, blocks: BlockStore) -> None:
        self._core = core
        self._blocks = blocks

    def run_id(self) -> str:
        """Returns a new name for a run."""
        return self._core.identifiers.descending_xid()

    def repository(self, name: str) -> Repository:
        """Returns a repository. Raises NotFound."""
        return self._core.repositories.get(name)

    def repositories(self) -> Iterable[Repository]:
        """Yields all repositories."""
        return self._core.repositories.all()

    def rules(self, repository: Repository) -> RetentionRules | None:
        """Returns a repository's rules, None without. Raises Corrupt."""
        return self._core.rules.find(repository)

    def uncommitted(
        self,
        collected: Repository,  # noqa: ARG002  its namespace is all that counts here
        namespace: Namespace,
    ) -> Iterator[Hashes]:
        """Yields what was restored, and what uploads and staged changes name."""
        yield hash_addresses(pa.array(restored_addresses(self._core, namespace), pa.string()))
        yield hash_addresses(pa.array(upload_addresses(self._core, namespace), pa.string()))
        for repository in self._core.repositories.all():
            yield from self._staged(repository, namespace.reading(repository))

    def roots(self, repository: Repository, now: float) -> Roots:
        """Returns what references reach. Raises Gone."""
        return collect_roots(self._core, repository, self.rules(repository), now)

    def staged(
        self,
        collected: Repository,  # noqa: ARG002  its namespace is all that counts here
        namespace: Namespace,
    ) -> Iterator[StagedRows]:
        """Yields the staged entries of all repositories, area by area. Raises Corrupt."""
        for repository in self._core.repositories.all():
            reading = namespace.reading(repository)
            for branch in staging_areas(self._core, repository):
                for token in branch.tokens:
                    yield from self._staged_rows(repository, branch.id, token, reading)

    def active(self, repository: Repository, now: float) -> Iterable[Active]:
        """Returns the active commits, those that something names first. Raises Gone."""
        return collect_active(self._core, repository, self.rules(repository), now)

    def past(self, repository: Repository, now: float) -> Iterable[ExpiredCommits]:
        """Returns the commits that are active no more. Raises Gone."""
        return collect_expired(self._core, repository, self.rules(repository), now)

    def old_uploads(self, repository: Repository, before: float) -> Sequence[Upload]:
        """Returns a repository's uploads that began before a time and have not ended."""
        uploads = (upload for upload in self._core.uploads.all() if upload.creation_date < before)
        return [
            upload
            for upload in uploads
            if upload.partition == repository.partition
            and self._core.uploads.find(repository, upload.id) is not None
        ]

    def end_upload(self, repository: Repository, upload: Upload) -> bool:
        """Ends an upload and removes its parts. One that is completed at the same time is either
        ended or completed, not both. If only the store has completed it, its object becomes a
        candidate of later runs: a client may have staged its address.
        """
        stored = self._core.uploads.find(repository, upload.id)
        if stored is None or not self._core.uploads.abandon(stored):
            return False
        self._blocks.abort_upload(upload.block, upload.id)
        self._core.uploads.forget_checksums(upload)
        return True

    def begin_sweep(self, repository: Repository, sweep: str) -> None:  # noqa: ARG002
        """Enters a sweep."""
        self._core.sweeps.begin(sweep)

    def renew_sweep(self, repository: Repository, sweep: str) -> None:  # noqa: ARG002
        """Renews a sweep's lease. Raises Conflict if it has lost it."""
        self._core.sweeps.renew(sweep)

    def condemn(
        self,
        repository: Repository,  # noqa: ARG002
        sweep: str,
        addresses: Sequence[str],
    ) -> None:
        """Writes tombstones of full addresses."""
        self._core.sweeps.condemn(sweep, addresses)

    def spare(self, repository: Repository, sweep: str) -> None:  # noqa: ARG002
        """Removes all tombstones of a sweep."""
        self._core.sweeps.spare(sweep)

    def end_sweep(self, repository: Repository, sweep: str) -> None:  # noqa: ARG002
        """Removes a sweep and its tombstones."""
        self._core.sweeps.end(sweep)

    def ranges(self, repository: Repository, metarange_id: str) -> list[kernel.RangeInfo]:
        """Returns the ranges of a tree. Raises Gone, Corrupt."""
        with translate_errors():
            return self._core.trees.open(repository, metarange_id).ranges()

    def locate(self, repository: Repository, table_id: str) -> str:
        """Returns the path of a table's file. Raises Gone, Corrupt."""
        return self._core.trees.locate(repository, table_id)

    def _staged(self, repository: Repository, reading: Reading) -> Iterator[Hashes]:
        """Yields the changes in staging areas, each by itself: what a newer area hides will still
        be committed if the older one is sealed.
        """
        for branch in staging_areas(self._core, repository):
            for token in branch.tokens:
                yield self._area(repository, branch.id, token, reading)

    def _staged_rows(
        self, repository: Repository, branch: str, token: str, reading: Reading
    ) -> Iterator[StagedRows]:
        rows = self._core.staging.rows([token])
        with (
            _readable(repository, branch),
            self._core.trees.overlaid(repository, kernel.EMPTY_TREE_ID, rows) as tree,
        ):
            for batch in pa.RecordBatchReader.from_stream(tree.scan()):
                for paths, addresses in reading.rows(batch):
                    yield StagedRows(repository.id, branch, paths, addresses)

    def _area(self, repository: Repository, branch: str, token: str, reading: Reading) -> Hashes:
        """Returns the changes of one staging area, which the kernel reads as a tree."""
        rows = self._core.staging.rows([token])
        empty = kernel.EMPTY_TREE_ID
        with (
            _readable(repository, branch),
            self._core.trees.overlaid(repository, empty, rows) as tree,
        ):
            return index_tree(tree, reading, f"staged changes of branch {branch}")[0]


@contextmanager
def _readable(repository: Repository, branch: str) -> Iterator[None]:
    """Raises Corrupt, which names the branch, for a staged change that cannot be read."""
    try:
        yield
    except (kernel.KernelError, pa.ArrowInvalid) as error:
        raise Corrupt(
            f"a staged change on branch {branch} of {repository.id} cannot be read: {error}"
        ) from error
