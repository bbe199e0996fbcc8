"""Stored retention rules, in lakeFS 1.84's format.

They are a file in the repository's storage namespace. It holds a protobuf record, although its name
ends with `.json`; the file is empty if the rules were deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from google.protobuf.message import DecodeError

from anabranch import _kernel as kernel
from anabranch.blocks.contract import BlockStore
from anabranch.errors import Corrupt, Gone
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.model.repositories.retention import RetentionRules
from anabranch.model.uri import IMAGES
from anabranch.records import lakefs_pb2 as records
from anabranch.versioning.garbage.retention import (
    CommitGraphs,
    CommitNode,
    active_commits,
    former_heads,
)
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.operations.retention import OperationRetention
from anabranch.versioning.references.branches import Branches
from anabranch.versioning.references.tags import Tags

__all__ = ["RETENTION", "RepositoryCommits", "StoredRules", "rules_address"]

RETENTION = "_lakefs/retention/gc"
"""The folder of all files of garbage collection, in a storage namespace."""

_RULES = f"{RETENTION}/rules/config.json"
_IMAGE_DAYS = 1
"""Retention of images in days. A build creates its commit before its tag, so it cannot be zero."""


class RepositoryCommits(NamedTuple):
    """A repository's branches, the commits of its tags by name, all commits by id, and the ids of
    the active ones.
    """

    branches: list[Branch]
    tagged: dict[str, str]
    graph: dict[str, CommitNode]
    active: set[str]

    @property
    def active_trees(self) -> frozenset[str]:
        """The trees of the active commits."""
        return frozenset(self.graph[commit_id].metarange_id for commit_id in self.active)


class StoredRules:
    """The rules of all repositories, and whether commits have expired by them."""

    def __init__(
        self,
        blocks: BlockStore,
        branches: Branches,
        tags: Tags,
        commits: Commits,
        operations: OperationRetention,
    ) -> None:
        self._blocks = blocks
        self._branches = branches
        self._tags = tags
        self._commits = commits
        self._operations = operations

    def find(self, repository: Repository) -> RetentionRules | None:
        """Returns a repository's rules, or None. The repository of images always has rules: an
        image is kept while its tag exists, and a day longer. Raises Corrupt.
        """
        if repository.id == IMAGES and repository.read_only:
            return RetentionRules(_IMAGE_DAYS)
        address = rules_address(repository)
        try:
            raw = self._blocks.read(address)
        except Gone:
            return None
        message = records.GarbageCollectionRules()
        try:
            message.ParseFromString(raw)
        except DecodeError as error:
            raise Corrupt(
                f"{address}: the rules of garbage collection cannot be read: {error}", path=address
            ) from error
        if not raw:
            return None
        return RetentionRules(message.default_retention_days, dict(message.branch_retention_days))

    def is_expired(self, repository: Repository, commit_id: str, now: float) -> bool:
        """Returns whether a commit has expired by the rules, so that a sweep may have removed or
        may be removing its objects; `now` in seconds since 1970. Raises Corrupt.
        """
        rules = self.find(repository)
        if rules is None:
            return False
        return commit_id not in self.read_commits(repository, rules, now).active

    def expired_trees(
        self, repository: Repository, now: float, graphs: CommitGraphs | None = None
    ) -> frozenset[str]:
        """Returns the trees of expired commits that no active commit has, without the empty tree;
        `now` in seconds since 1970. `graphs` are commits that were read before. Raises Gone for a
        missing commit that is referenced, Corrupt.
        """
        rules = self.find(repository)
        if rules is None:
            return frozenset()
        commits = self.read_commits(repository, rules, now, graphs=graphs)
        trees = {node.metarange_id for node in commits.graph.values()} - commits.active_trees
        return frozenset(trees - {"", kernel.EMPTY_TREE_ID})

    def read_commits(
        self,
        repository: Repository,
        rules: RetentionRules | None,
        now: float,
        pinned: Collection[str] = (),
        graphs: CommitGraphs | None = None,
    ) -> RepositoryCommits:
        """Returns a repository's references and commits, and which of these are active by rules;
        `now` in seconds since 1970. Pins must be read before: a branch or a tag can be created
        from a pinned commit at any time. What operations can bring back is active too. Of the
        commits, those in `graphs` are not decoded again. Raises Gone for a missing commit that is
        referenced.
        """
        branches = list(self._branches.all(repository))
        tagged = {tag.id: tag.commit_id for tag in self._tags.all(repository)}
        # after references: what an operation takes from one meanwhile is found here
        kept = self._operations.kept(repository)
        # commits last, so that each commit of a branch or a tag is among them
        graph = (graphs or CommitGraphs()).load(self._commits, repository)
        former = former_heads(graph, branches, kept.branches)
        # an older version has kept nothing, and the commits that its operations name may be gone
        named = [*tagged.values(), *(graph.keys() & kept.tagged)]
        active = active_commits(graph, [*branches, *former], named, rules, now)
        active |= graph.keys() & pinned
        return RepositoryCommits(branches, tagged, graph, active)


def rules_address(repository: Repository) -> str:
    """Returns the address of a repository's rules."""
    return f"{repository.storage_namespace.rstrip('/')}/{_RULES}"
