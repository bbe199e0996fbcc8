"""Patches: what commits change, to find those that another history has as commits of its own.

A commit has the patch of another one if both change the same objects from the same content to the
same content, compared with their parents. This is git's patch id for opaque files; see
git-patch-id(1), and `--cherry-mark` in git-log(1). Merge commits and commits that change nothing
have no patch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, zip_longest

from anabranch import _kernel as kernel
from anabranch.errors import Gone
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_range import commit_range
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.history.index import HistoryIndex
from anabranch.versioning.trees.trees import Trees

__all__ = ["Patches"]

_MAX_COMPARED = 100
"""How many commits are compared by their trees before a repository's index is loaded."""
_PAGE_CHANGES = 1000

_Change = tuple[bytes, bytes | None, bytes | None]
"""The key of an object, and the identities of its content before and after."""


class Patches:
    """Finds commits by their patches. `max_compared` is how many commits are compared by their
    trees before a repository's index is loaded.
    """

    def __init__(
        self,
        commits: Commits,
        trees: Trees,
        index: HistoryIndex,
        *,
        max_compared: int = _MAX_COMPARED,
    ) -> None:
        self._commits = commits
        self._trees = trees
        self._index = index
        self._max_compared = max_compared

    def changes_nothing(self, repository: Repository, before: str, after: str) -> bool:
        """Returns whether two trees, given by id, have the same objects with the same content.
        Trees with different ids do if their objects are stored at different addresses.
        """
        return before == after or next(self._changes(repository, before, after, 1), None) is None

    def applied(
        self, repository: Repository, commits: Sequence[Commit], head: Commit, onto: Commit
    ) -> frozenset[str]:
        """Returns the ids of those of some commits in the history of `head` whose patch a commit
        has that is in the history of `onto` and not in that of `head`.
        """
        if not commits:
            return frozenset()
        read = self._commits.reader(repository)
        others = [each for each in commit_range(read, head.id, onto.id) if not each.is_merge]
        if not others:
            return frozenset()
        by_first_change: dict[_Change, list[Commit]] = {}
        for commit in commits:
            first = next(self._patch(repository, commit, 1), None)
            if first is not None:
                by_first_change.setdefault(first, []).append(commit)
        found: set[str] = set()
        keys = sorted({key for key, _, _ in by_first_change})
        for other in self._candidates(repository, others, onto, keys):
            with suppress(Gone):  # the tables of expired commits may have been removed
                first = next(self._patch(repository, other, 1), None)
                for commit in () if first is None else by_first_change.get(first, ()):
                    if commit.id not in found and self._have_same_patch(repository, commit, other):
                        found.add(commit.id)
        return frozenset(found)

    def _candidates(
        self, repository: Repository, others: Sequence[Commit], onto: Commit, keys: Sequence[bytes]
    ) -> Iterable[Commit]:
        """Returns those of some commits in the history of `onto` that may have changed a key."""
        if len(others) <= self._max_compared:
            return others
        graph = self._index.graph(repository, onto.id)
        if graph is None:
            return others
        by_id = {commit.id: commit for commit in others}
        try:
            changed = [by_id[each] for each in graph.log(onto.id, keys, ()) if each in by_id]
        except kernel.KernelError:
            return others  # a parent is missing
        return chain(changed, (commit for commit in others if not commit.parents))

    def _have_same_patch(self, repository: Repository, one: Commit, other: Commit) -> bool:
        patches = (self._patch(repository, commit, _PAGE_CHANGES) for commit in (one, other))
        return all(left == right for left, right in zip_longest(*patches))

    def _patch(self, repository: Repository, commit: Commit, page: int) -> Iterator[_Change]:
        before = kernel.EMPTY_TREE_ID
        if commit.parents:
            before = self._commits.get(repository, commit.parents[0]).metarange_id
        if before == commit.metarange_id:
            return iter(())
        return self._changes(repository, before, commit.metarange_id, page)

    def _changes(
        self, repository: Repository, before: str, after: str, page: int
    ) -> Iterator[_Change]:
        """Yields the changes from one tree to another in the order of keys, read by pages."""
        left, right = (self._trees.open(repository, each) for each in (before, after))
        last, has_more = b"", True
        while has_more:
            found = self._trees.read(left.diff, right, after=last, amount=page)
            for _, key, old, new in found.rows:
                yield key, old and old[0], new and new[0]
                last = key
            has_more = found.has_more
