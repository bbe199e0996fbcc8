"""Restores the references of a bare repository from a dump that its storage namespace has.

Everything is read and verified first: the tables of the dump, the commits, the trees that they
name and the addresses in these. Then one step adds all commits, branches and tags, on condition
that the repository is still bare and that no garbage collection has begun to sweep since: a dump
may refer to any object of the namespace, also to those that a sweep is about to remove. So readers
see all of the references or none, wherever a restore ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from anabranch.errors import Busy, Conflict, Gone, Invalid
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.refs_dump import RefsDump
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.garbage.sweeps import SweepRecords
from anabranch.versioning.garbage.swept_trees import SweptTrees
from anabranch.versioning.history.code_authors import CodeAuthors
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.records import keys, references
from anabranch.versioning.repositories.refs_dump_reader import (
    DumpedRefs,
    RefsDumpReader,
    dump_errors,
)
from anabranch.versioning.staging.extra_writes import ExtraWritesFor, collect_extra_writes
from anabranch.versioning.trees.tree_addresses import Importable, TreeAddresses

__all__ = ["RefsRestorer"]

Advance = Callable[[int], None]
"""Is called with a number of records that were processed; may raise to stop the work."""

_MAX_ATTEMPTS = 100
_COMMITS = keys.commit("")


class _Start(NamedTuple):
    """What must not change while a dump is read: the conditions of the step that restores it."""

    sweeps: Expect
    repository: Expect


class RefsRestorer:
    """Restores the references of all repositories."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        reader: RefsDumpReader,
        sweeps: SweepRecords,
        swept: SweptTrees,
        addresses: TreeAddresses,
        code_authors: CodeAuthors,
    ) -> None:
        self._code_authors = code_authors
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._reader = reader
        self._sweeps = sweeps
        self._swept = swept
        self._addresses = addresses

    def require_bare(self, repository: Repository) -> None:
        """Raises Invalid (kind repository_not_bare) if a repository has a branch or a tag."""
        for bounds in (keys.all_branches(), keys.all_tags()):
            if any(self._keyvalue.scan(repository.partition, *bounds, limit=1)):
                raise Invalid(
                    "can only restore into a bare repository",
                    kind="repository_not_bare",
                    hint="Create another repository on the storage namespace, with bare=true.",
                )

    def restore(
        self,
        repository: Repository,
        dump: RefsDump,
        *,
        importable: Importable | None = None,
        advance: Advance = lambda _: None,
        extra_writes: Sequence[ExtraWritesFor[None]] = (),
    ) -> None:
        """Adds the commits, branches and tags of a dump to a bare repository; `extra_writes` adds
        writes to the same step.

        Raises Invalid for a repository that is not bare (kind repository_not_bare) and for a dump
        that is damaged, incomplete or none (kind invalid_refs_dump); Gone for a tree that the
        storage namespace does not have or that lacks a table, Denied for addresses that no object
        of the repository may have (kind address_forbidden) or that are outside of its data and not
        `importable` (kind insufficient_permissions), and Conflict (kinds sweep_under_way,
        swept_meanwhile) during a sweep or (kind commit_expired) for a branch or a tag whose
        objects were removed by one. Then nothing has changed.
        """
        start = self._begin(repository)
        self.require_bare(repository)
        refs = self._reader.read(repository, dump, advance)
        with dump_errors():
            trees = dict.fromkeys(commit.metarange_id for commit in refs.commits.values())
            self._reader.verify_trees(repository, trees)
            self._addresses.require_all_admitted(repository, trees, advance, importable)
        heads = [branch.commit_id for branch in refs.branches]
        for commit_id in dict.fromkeys((*heads, *(tag.commit_id for tag in refs.tags))):
            tree = refs.commits[commit_id].metarange_id
            self._swept.require_stored(repository, tree, what=f"commit {commit_id}")
        writes = list(self._writes(repository, refs))
        absent = [
            Expect(partition, key, None)
            for partition, key, _ in writes
            if not key.startswith(_COMMITS)
        ]
        for _ in range(_MAX_ATTEMPTS):
            guard = self._keyvalue.get(repository.partition, keys.RESTORED_REFS)
            self.require_bare(repository)
            if self._begin(repository) != start:
                raise Conflict(
                    "garbage collection has removed objects since the restore began, or the "
                    "repository has changed",
                    kind="swept_meanwhile",
                    hint="Restore again, and then look for missing objects: "
                    "`anabranch gc --check-only`.",
                )
            extra, expected = collect_extra_writes(extra_writes, None)
            restored = Write(
                repository.partition, keys.RESTORED_REFS, self._identifiers.xid().encode()
            )
            restored_by = self._code_authors.of_restore(repository)
            unchanged = Expect(repository.partition, keys.RESTORED_REFS, guard)
            if self._keyvalue.apply(
                [*writes, restored, restored_by, *extra], [*start, unchanged, *absent, *expected]
            ):
                return
        raise Busy("the repository is changed by too many requests at once")

    def _begin(self, repository: Repository) -> _Start:
        """Returns the conditions that hold now. Raises Conflict (kind sweep_under_way) during a
        sweep, Gone for a repository that was deleted.
        """
        names, sweeps = self._sweeps.running()
        if names:
            raise Conflict(
                "garbage collection is removing objects, and the dump may refer to them",
                kind="sweep_under_way",
                hint="Try again when it is over.",
            )
        key = keys.repository(repository.id)
        raw = self._keyvalue.get(keys.GRAVELER, key)
        stored = None if raw is None else references.repository_from(raw)
        if stored is None or stored.in_deletion or stored.partition != repository.partition:
            raise Gone("repository in deletion", kind="repository_in_deletion")
        return _Start(sweeps, Expect(keys.GRAVELER, key, raw))

    def _writes(self, repository: Repository, refs: DumpedRefs) -> Iterator[Write]:
        """Yields the writes of all records; branches have new, empty staging areas."""
        partition = repository.partition
        for commit in refs.commits.values():
            yield Write(partition, keys.commit(commit.id), references.commit_bytes(commit))
        for branch in refs.branches:
            stored = Branch(
                id=branch.id,
                commit_id=branch.commit_id,
                staging_token=self._identifiers.staging_token(repository.id, branch.id),
                hidden=branch.hidden,
            )
            yield Write(partition, keys.branch(branch.id), references.branch_bytes(stored))
        for tag in refs.tags:
            yield Write(partition, keys.tag(tag.id), references.tag_bytes(tag))
