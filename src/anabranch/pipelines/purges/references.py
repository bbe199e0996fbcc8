"""References to the data in a storage namespace, in all repositories but the deleted one.

A purge removes nothing as long as there is one. Every commit counts, whether it has expired or not,
every staged change, what the tables of either lead to, every unfinished upload, every object that
was restored from quarantine, and a job that still reads the deleted repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.blocks.table_addresses import TABLES
from anabranch.errors import Conflict, Gone, NotFound
from anabranch.model.repositories.purge import LeftNamespace
from anabranch.model.repositories.repository import Repository
from anabranch.model.tables.table_area import AREAS_FOLDER
from anabranch.pipelines.garbage.addresses.address_index import index_tree
from anabranch.pipelines.garbage.addresses.namespace import AddressResolver, to_namespace
from anabranch.pipelines.garbage.addresses.range_tree import range_tree
from anabranch.pipelines.garbage.installations.gc_roots import restored_addresses, staging_areas
from anabranch.pipelines.garbage.installations.stored import StoredInstallation
from anabranch.pipelines.purges.table_references import TableReferences
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.retention import load_commit_graph
from anabranch.versioning.records.left_namespaces import contains, same_namespace
from anabranch.versioning.repositories.deleted import StoredDeletion

__all__ = ["FOLDERS", "NamespaceReferences", "deleted_repository", "deletions_in"]

FOLDERS = ("data/", f"{TABLES}/", AREAS_FOLDER)
"""The folders of a storage namespace that have data of its repository."""

_PASSES = 2
"""A second pass finds what moved within a staging area from behind the first one to before it."""


class NamespaceReferences:
    """Searches for references to a deleted repository's data. What it has read of commits is not
    read again, since it never changes. `advance` is called with numbers of entries, and may raise.
    """

    def __init__(
        self, core: Core, blocks: BlockStore, left: LeftNamespace, advance: Callable[[int], None]
    ) -> None:
        self._core = core
        self._repository = deleted_repository(left)
        # those that were deleted there before are given up, too
        self._purged = {self._repository.partition} | {
            each.deleted.repository.partition for each in deletions_in(core, left.storage_namespace)
        }
        self._namespace = to_namespace(self._repository, blocks)
        self._installation = StoredInstallation(core, blocks)
        self._tables = TableReferences(self._installation, blocks, self._repository)
        self._advance = advance
        self._trees: set[tuple[str, str]] = set()
        self._ranges: set[tuple[str, str]] = set()

    def require_none(self) -> None:
        """Raises Conflict (kind namespace_in_use), which names the first reference that is found;
        Gone and Corrupt if a repository cannot be read, since its references are then not known.
        """
        for _ in range(_PASSES):
            self._require_no_jobs()
            for repository in self._core.repositories.kept():
                if repository.partition in self._purged:
                    continue
                try:
                    self._require_none_in(repository)
                except (Gone, NotFound):
                    if self._core.repositories.exists(repository):
                        raise

    def require_deleted(self) -> None:
        """Raises Conflict (kind namespace_in_use) if the repository exists: it may have been
        restored until the purge had claimed its namespace.
        """
        partition = self._repository.partition
        if any(each.partition == partition for each in self._core.repositories.all()):
            raise self._in_use("the repository was restored", "Delete it first.")

    def _require_no_jobs(self) -> None:
        """Raises Conflict if other records than those of repositories refer to the data."""
        # of all deleted repositories: several may have shared the namespace
        live = {repository.partition for repository in self._core.repositories.all()}
        if self._core.pins.partitions() - (live - {self._repository.partition}):
            raise self._in_use(
                "a job still reads commits of it or of another deleted repository",
                "Try again when it has ended; that of a killed job is over after two hours.",
            )
        if any(map(_is_data, restored_addresses(self._core, self._namespace))):
            raise self._in_use(
                "objects of it were restored from quarantine",
                "They are kept for a week, so that a reference can be made.",
            )
        for upload in self._core.uploads.all():
            if upload.partition in ("", self._repository.partition):
                continue  # one of an unknown repository cannot be in another one's namespace
            relative = self._namespace.relative(upload.block)
            if relative is not None and _is_data(relative):
                raise self._in_use(f"the multipart upload {upload.id} stores an object in it", "")

    def _require_none_in(self, repository: Repository) -> None:
        self._require_apart(repository)
        resolver = self._namespace.resolver(repository)
        for branch in staging_areas(self._core, repository):
            for token in branch.tokens:
                rows = self._core.staging.rows([token])
                empty = kernel.EMPTY_TREE_ID
                with self._core.trees.overlaid(repository, empty, rows) as tree:
                    self._search(repository, resolver, tree, f"staged on branch {branch.id}")
        self._tables.mark_staged(repository)
        # commits last: what is staged becomes a commit
        for commit_id, node in load_commit_graph(self._core.commits, repository).items():
            if (repository.partition, node.metarange_id) in self._trees:
                continue
            ranges = self._installation.ranges(repository, node.metarange_id)
            for info in ranges:
                if (repository.partition, info.id) not in self._ranges:
                    path = self._installation.locate(repository, info.id)
                    with range_tree(info, path) as tree:
                        self._search(repository, resolver, tree, f"in commit {commit_id}")
                    self._ranges.add((repository.partition, info.id))
            self._tables.add_ranges(repository, ranges)
            self._trees.add((repository.partition, node.metarange_id))
        area = self._tables.find(repository)
        if area:
            raise self._in_use(
                f"a table of the repository {repository.id} has files in {AREAS_FOLDER}{area}",
                "Write its data to files of its own, or delete that repository, too: its history "
                "keeps all its files.",
            )

    def _require_apart(self, repository: Repository) -> None:
        own, other = self._repository.storage_namespace, repository.storage_namespace
        if (
            same_namespace(own, other)
            or any(contains(folder, other) for folder in _folders(own))
            or any(contains(folder, own) for folder in _folders(other))
        ):
            raise self._in_use(
                f"the repository {repository.id} has its data in {repository.shown_namespace}", ""
            )

    def _search(
        self, repository: Repository, resolver: AddressResolver, tree: kernel.Tree, where: str
    ) -> None:
        """Raises Conflict if an entry of a tree refers to the data."""
        hashes, rows = index_tree(tree, resolver, f"{where} of {repository.id}")
        self._advance(rows)
        if not len(hashes):
            return
        for path in _paths(tree, resolver):
            raise self._in_use(
                f"lakefs://{repository.id} refers to an object in it: {path}, {where}",
                "Copy it again without `shallow`, or delete that repository, too: its history "
                "keeps all its objects.",
            )

    def _in_use(self, reason: str, hint: str) -> Conflict:
        return Conflict(
            f"the data of {self._repository.id} in {self._repository.shown_namespace} are in use: "
            f"{reason}",
            kind="namespace_in_use",
            hint=hint,
        )


def deletions_in(core: Core, storage_namespace: str) -> list[StoredDeletion]:
    """Returns the deleted repositories that had their data in a storage namespace."""
    return [
        each
        for each in core.repositories.deleted.stored()
        if same_namespace(each.deleted.repository.storage_namespace, storage_namespace)
    ]


def deleted_repository(left: LeftNamespace) -> Repository:
    """Returns the deleted repository of a namespace, with the partition that it had."""
    return Repository(
        id=left.repository,
        storage_namespace=left.storage_namespace,
        default_branch=left.default_branch,
        creation_date=0,
        instance_uid=left.instance_uid,
        written_namespace=left.written_namespace,
    )


def _folders(storage_namespace: str) -> Iterator[str]:
    return (f"{storage_namespace.rstrip('/')}/{folder}" for folder in FOLDERS)


def _is_data(relative: str) -> bool:
    return relative.startswith(FOLDERS)


def _paths(tree: kernel.Tree, resolver: AddressResolver) -> Iterator[str]:
    """Yields the paths of the entries that refer to the data."""
    for batch in pa.RecordBatchReader.from_stream(tree.scan()):
        for paths, addresses in resolver.resolve_batch(batch):
            in_data = pc.starts_with(addresses, FOLDERS[0])
            for folder in FOLDERS[1:]:
                in_data = pc.or_(in_data, pc.starts_with(addresses, folder))
            yield from paths.filter(in_data).to_pylist()
