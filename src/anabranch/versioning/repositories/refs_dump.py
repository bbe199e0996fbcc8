"""Dumps the references of a repository as trees, in lakeFS's format.

Commits, branches and tags are read in one snapshot of the key-value store, so a dump is what the
repository was at one moment. Its tables are stored with those of commits and never change; the dump
exists when all of them are durable, and its ids are returned only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from anabranch.errors import Corrupt, Gone
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.commits.commit import Commit
from anabranch.model.references.branch import Branch
from anabranch.model.references.tag import Tag
from anabranch.model.repositories.refs_dump import RefsDump
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records import dumps, keys, references
from anabranch.versioning.records.entries import Value
from anabranch.versioning.repositories.repositories import Repositories
from anabranch.versioning.trees.tree_writers import WriteRecords
from anabranch.versioning.trees.trees import Trees

__all__ = ["RefsDumper"]

Advance = Callable[[int], None]
"""Is called with a number of records that were processed; may raise to stop the work."""

_BATCH = 1000


class RefsDumper:
    """Dumps the references of all repositories."""

    def __init__(self, keyvalue: KeyValueStore, repositories: Repositories, trees: Trees) -> None:
        self._keyvalue = keyvalue
        self._repositories = repositories
        self._trees = trees

    def dump(self, repository: Repository, advance: Advance = lambda _: None) -> RefsDump:
        """Returns the dump of a repository's commits, branches and tags.

        Raises Corrupt if a branch, a tag or one of their ancestors names a commit that does not
        exist; Gone if the repository is deleted meanwhile.
        """
        commit_rows, branch_rows, tag_rows = self._keyvalue.snapshot(
            repository.partition, [keys.all_commits(), keys.all_branches(), keys.all_tags()]
        )
        # a deletion is recorded before any reference is removed
        if self._repositories.get(repository.id).partition != repository.partition:
            raise Gone("the repository was deleted", kind="repository_in_deletion")
        branches = [references.branch_from(raw) for _, raw in branch_rows]
        tags = [references.tag_from(raw) for _, raw in tag_rows]
        commits: dict[str, Commit] = {}
        for number, (_, raw) in enumerate(commit_rows, 1):
            commit = references.commit_from(raw)
            commits[commit.id] = commit
            if number % _BATCH == 0:
                advance(_BATCH)
        incomplete = _without_ancestors(commits)
        named: list[Branch | Tag] = [*branches, *tags]
        for ref in named:
            if ref.commit_id not in commits or ref.commit_id in incomplete:
                raise Corrupt(
                    f"{ref.id}: the commit {ref.commit_id} or one of its ancestors is missing"
                )
        records = zip(commits, (raw for _, raw in commit_rows), strict=True)
        return RefsDump(
            commits=self._write(
                repository,
                dumps.COMMITS,
                [dumps.commit_row(*each) for each in records if each[0] not in incomplete],
            ),
            branches=self._write(repository, dumps.BRANCHES, map(dumps.branch_row, branches)),
            tags=self._write(repository, dumps.TAGS, map(dumps.tag_row, tags)),
        )

    def _write(
        self,
        repository: Repository,
        stored_as: dumps.DumpFormat,
        rows: Iterable[tuple[bytes, Value]],
    ) -> str:
        """Writes a tree of records; returns its id."""
        writer = WriteRecords(list(rows), stored_as.metadata)
        return self._trees.write(repository, writer).metarange_id


def _without_ancestors(commits: Mapping[str, Commit]) -> set[str]:
    """Returns the commits that have an ancestor that is not among them. Clients that write records
    of commits themselves may leave such commits behind; no reference leads to them.
    """
    children: dict[str, list[str]] = {}
    missing: list[str] = []
    for commit in commits.values():
        for parent in commit.parents:
            children.setdefault(parent, []).append(commit.id)
            if parent not in commits:
                missing.append(parent)
    incomplete: set[str] = set()
    while missing:
        for child in children.get(missing.pop(), ()):
            if child not in incomplete:
                incomplete.add(child)
                missing.append(child)
    return incomplete
