"""The last commits that changed certain paths, as `git blame` finds them for lines.

A path's last change is in the commit itself if the path differs from that in every parent; else it
is that of the first parent with the same content. So the walk follows one line for each path, and
skips along first parents to the next commit that may have changed one of the paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from anabranch import _kernel as kernel
from anabranch.model.commits.commit import Commit
from anabranch.model.names import encode_path
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import Complete, HistoryIndex
from anabranch.versioning.history.revision_walk import ReadCommit
from anabranch.versioning.records.entries import Value
from anabranch.versioning.trees.trees import Trees

__all__ = ["LastChanges"]


class LastChanges:
    """Finds the last commits that changed paths."""

    def __init__(self, commits: Commits, trees: Trees, index: HistoryIndex) -> None:
        self._commits = commits
        self._trees = trees
        self._index = index

    def find(
        self,
        repository: Repository,
        start: Commit,
        objects: Sequence[str],
        prefixes: Sequence[str] = (),
        *,
        first_parent: bool = False,
    ) -> list[Commit]:
        """Returns the last commit, of `start` and its ancestors, that changed each of these
        objects, and then the last that changed anything under each of these prefixes. For a path
        that no commit has, it is the last commit that removed it, or else the first one.
        """
        walk = _Walk(
            self._commits.reader(repository),
            lambda commit: self._trees.open(repository, commit.metarange_id),
            self._trees.read,
            [*map(encode_path, objects), *map(encode_path, prefixes)],
            len(objects),
            first_parent=first_parent,
        )
        graph = self._index.graph(repository, start.id)
        if graph is not None:
            try:
                with self._index.completing(repository, graph) as complete:
                    return walk.run(start, graph, complete)
            except kernel.KernelError:
                pass  # a parent is missing: the plain walk says which
        return walk.run(start, None, None)


class _Walk:
    """The walk for one request. The keys from number `object_count` on are prefixes."""

    def __init__(
        self,
        read: ReadCommit,
        open_tree: Callable[[Commit], kernel.Tree],
        read_trees: Callable[..., list[bool]],
        keys: Sequence[bytes],
        object_count: int,
        *,
        first_parent: bool,
    ) -> None:
        self._read = read
        self._open_tree = open_tree
        self._read_trees = read_trees
        self._keys = keys
        self._object_count = object_count
        self._most_parents = 1 if first_parent else None

    def run(
        self, start: Commit, graph: kernel.CommitGraph | None, complete: Complete | None
    ) -> list[Commit]:
        """Returns the last change of each key; skips commits by `graph`, which `complete`
        completes.
        """
        found: dict[int, Commit] = {}
        pending = [(start, list(range(len(self._keys))))]
        while pending:
            commit, numbers = pending.pop()
            compared = numbers
            if graph is not None and complete is not None:
                commit, compared = self._skip(graph, commit, numbers)
                if commit.parents:
                    complete(commit, self._read(commit.parents[0]))
            examined = set(compared)
            unchanged = [number for number in numbers if number not in examined]
            for parent in map(self._read, commit.parents[: self._most_parents]):
                differ = self._differ(parent, commit, compared)
                same = [n for n, differs in zip(compared, differ, strict=True) if not differs]
                compared = [n for n, differs in zip(compared, differ, strict=True) if differs]
                if unchanged or same:
                    pending.append((parent, [*unchanged, *same]))
                unchanged = []
                if not compared:
                    break
            found.update(dict.fromkeys(compared, commit))
        return [found[number] for number in range(len(self._keys))]

    def _skip(
        self, graph: kernel.CommitGraph, commit: Commit, numbers: Sequence[int]
    ) -> tuple[Commit, list[int]]:
        """Returns the next commit that may have changed one of the keys, and which."""
        objects = [number for number in numbers if number < self._object_count]
        prefixes = [number for number in numbers if number >= self._object_count]
        commit_id, positions = graph.last_candidate(
            commit.id,
            [self._keys[number] for number in objects],
            [self._keys[number] for number in prefixes],
        )
        ordered = [*objects, *prefixes]
        return self._read(commit_id), [ordered[position] for position in positions]

    def _differ(self, parent: Commit, commit: Commit, numbers: Sequence[int]) -> list[bool]:
        """Returns for each key whether a commit changed it, compared with a parent."""
        if parent.metarange_id == commit.metarange_id:
            return [False] * len(numbers)
        return self._read_trees(
            self._compare, self._open_tree(parent), self._open_tree(commit), numbers
        )

    def _compare(
        self, before: kernel.Tree, after: kernel.Tree, numbers: Sequence[int]
    ) -> list[bool]:
        objects = [self._keys[number] for number in numbers if number < self._object_count]
        pairs = zip(before.get_many(objects), after.get_many(objects), strict=True)
        differ = iter([_identity(left) != _identity(right) for left, right in pairs])
        return [
            next(differ)
            if number < self._object_count
            else bool(before.diff(after, prefix=self._keys[number], amount=1).rows)
            for number in numbers
        ]


def _identity(value: Value | None) -> bytes | None:
    return None if value is None else value[0]
