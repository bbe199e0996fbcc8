"""The history index: a repository's commits in memory, and which paths each of them changed.

A walk over stored commits reads them one by one, and to find out whether a commit changed a path it
opens two trees. The index answers both from memory. For each commit the key-value store has a
record of fingerprints of the paths that it changed; a commit of staged changes writes it in the
transaction that moves the branch. Other commits get theirs when they are first compared.

The index decides nothing: what matches a fingerprint is verified in the trees. A record that is
missing or damaged, or an index that cannot be loaded, makes a walk slower and changes no result.
docs/design/0013-history-index.md has the reasons.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from anabranch import _kernel as kernel
from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.commits.commit import Commit
from anabranch.model.references.expression import Modifier
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history import merge_base
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.revision_walk import ReadCommit, walk_revisions
from anabranch.versioning.records import keys
from anabranch.versioning.trees.trees import Trees

__all__ = ["Complete", "HistoryIndex"]

_MAX_GRAPHS = 8
_MAX_SINGLE_READS = 1_000
"""How many commits are read one by one before all of a repository are scanned."""
_MAX_READS_WHEN_LOADED = 50
"""How many are read one by one where all are in memory: to add those that are new has its cost."""
_WRITE_BATCH = 64

Complete = Callable[[Commit, Commit], None]
"""Adds the paths that a commit changed, compared with its first parent, unless they are known."""


class HistoryIndex:
    """The indexes of all repositories; keeps those of the most recently used ones in memory."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        commits: Commits,
        trees: Trees,
        *,
        max_single_reads: int = _MAX_SINGLE_READS,
    ) -> None:
        self._keyvalue = keyvalue
        self._commits = commits
        self._trees = trees
        self._max_single_reads = max_single_reads
        self._lock = threading.Lock()
        self._graphs: OrderedDict[str, kernel.CommitGraph] = OrderedDict()

    def write(self, repository: Repository, commit: Commit, changed: bytes) -> Write:
        """Returns the write of a commit's record; `changed` is `Written.changed_paths`."""
        record = kernel.encode_changed_paths(commit.id, changed)
        return Write(repository.partition, keys.changed_paths(commit.id), record)

    def merge_base(self, repository: Repository, left: str, right: str) -> str | None:
        """Returns the id of the best common ancestor of two commits, None if there is none."""
        read = self._commits.reader(repository)
        limited = _limit(read, self._most_single_reads(repository))
        with suppress(_TooManyReadsError):
            return merge_base.merge_base(limited, left, right)
        graph = self.graph(repository, left, right)
        if graph is not None:
            with suppress(kernel.KernelError):
                bases = map(read, graph.merge_bases(left, right))
                return next((base.id for base in sorted(bases, key=merge_base.preference)), None)
        return merge_base.merge_base(read, left, right)

    def revision(
        self, repository: Repository, commit: Commit, modifiers: Sequence[Modifier]
    ) -> Commit:
        """Returns the commit that modifiers select from a commit, as `walk_revisions` does: a long
        way is walked in memory. Raises what that raises.
        """
        read = self._commits.reader(repository)
        steps = sum(modifier.count for modifier in modifiers)
        if steps <= self._most_single_reads(repository):
            return walk_revisions(read, commit, modifiers)
        graph = self.graph(repository, commit.id)
        if graph is not None:
            with suppress(kernel.KernelError):
                return walk_revisions(read, commit, modifiers, graph)
        return walk_revisions(read, commit, modifiers)

    def is_loaded(self, repository: Repository) -> bool:
        """Returns whether the repository's index is in memory."""
        return repository.partition in self._graphs

    def graph(self, repository: Repository, *commit_ids: str) -> kernel.CommitGraph | None:
        """Returns the repository's commits, which include these and their ancestors; None if they
        cannot be loaded.
        """
        with self._lock:
            graph = self._graphs.get(repository.partition)
            if graph is None:
                graph = self._graphs[repository.partition] = kernel.CommitGraph()
            self._graphs.move_to_end(repository.partition)
            while len(self._graphs) > _MAX_GRAPHS:
                self._graphs.popitem(last=False)
        try:
            missing = [commit_id for commit_id in commit_ids if commit_id not in graph]
            if missing and not (len(graph) and self._add_ancestors(repository, graph, missing)):
                self._add_all(repository, graph)
        except (AnabranchError, kernel.KernelError):
            return None
        return graph if all(commit_id in graph for commit_id in commit_ids) else None

    def _most_single_reads(self, repository: Repository) -> int:
        most = self._max_single_reads
        return min(most, _MAX_READS_WHEN_LOADED) if self.is_loaded(repository) else most

    @contextmanager
    def completing(self, repository: Repository, graph: kernel.CommitGraph) -> Iterator[Complete]:
        """Yields a function that completes the index, in memory at once and in the store at the
        latest at the end of the context. A store that cannot be written to causes no error.
        """
        writes: list[Write] = []

        def flush() -> None:
            if writes:
                with suppress(AnabranchError):
                    self._keyvalue.apply(writes)
                writes.clear()

        def complete(commit: Commit, parent: Commit) -> None:
            if not graph.is_unknown(commit.id):
                return
            before, after = (
                self._trees.open(repository, each.metarange_id) for each in (parent, commit)
            )
            changed = self._trees.read(kernel.changed_paths_between, before, after)
            writes.append(self.write(repository, commit, changed))
            graph.set_changed([(commit.id, writes[-1].value or b"")])
            if len(writes) >= _WRITE_BATCH:
                flush()

        try:
            yield complete
        finally:
            flush()

    def _add_ancestors(
        self, repository: Repository, graph: kernel.CommitGraph, commit_ids: list[str]
    ) -> bool:
        """Adds commits with those ancestors that the graph does not have; returns False, having
        added nothing, if they are too many to read one by one.
        """
        seen = set(commit_ids)
        pending = list(commit_ids)
        while pending:
            if len(seen) > self._max_single_reads:
                return False
            for parent in self._commits.get(repository, pending.pop()).parents:
                if parent not in seen and parent not in graph:
                    seen.add(parent)
                    pending.append(parent)
        ids = list(seen)
        get_many, partition = self._keyvalue.get_many, repository.partition
        records = get_many(partition, [keys.commit(commit_id) for commit_id in ids])
        changed = get_many(partition, [keys.changed_paths(commit_id) for commit_id in ids])
        graph.add([record for record in records if record is not None])
        known = zip(ids, changed, strict=True)
        graph.set_changed(
            [(commit_id, record) for commit_id, record in known if record is not None]
        )
        return True

    def _add_all(self, repository: Repository, graph: kernel.CommitGraph) -> None:
        rows = self._keyvalue.scan(repository.partition, *keys.all_commits())
        graph.add([record for _, record in rows])
        rows = self._keyvalue.scan(repository.partition, *keys.all_changed_paths())
        graph.set_changed([(keys.changed_paths_commit(key), record) for key, record in rows])


class _TooManyReadsError(Exception):
    """A walk has read as many commits as it may."""


def _limit(read: ReadCommit, most: int) -> ReadCommit:
    """Returns a function that reads a commit, `most` times."""
    left = most

    def limited(commit_id: str) -> Commit:
        nonlocal left
        left -= 1
        if left < 0:
            raise _TooManyReadsError
        return read(commit_id)

    return limited
