"""Sealed trees: commits with the sealed staging areas of a branch applied, for pages that would
otherwise read a million deletions to find the next object.

A sealed area never changes, so such a tree is right wherever a branch names the same commit and the
same areas. Each process keeps the trees of its readers in temporary folders. A page that has read
many changes asks for one, and so does a process that has staged many deletions; `build` makes it,
and first seals the active area if the changes are there. Sealing is what a commit does first, too:
nobody can see it, and it survives a crash.

The areas of a branch are few, because processes without a tree look into each of them: when there
are some already, only one that is large beside them is sealed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt, Gone, NotFound
from anabranch.files.work_folders import WorkFolder
from anabranch.model.references.branch import Branch
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.objects.sealing import seal_staged
from anabranch.versioning.references.branches import Branches
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.staging.area import Row, Staging
from anabranch.versioning.trees.trees import Trees

__all__ = ["MANY_CHANGES", "CountedRows", "SealedTree", "SealedTrees", "areas_above"]

MANY_CHANGES = 4096
"""So many staged changes are read for a page without asking for a tree: 2 to 3 ms."""

_MANY_DELETIONS = 16 * MANY_CHANGES
"""So many are staged before a tree is built that no page has asked for."""
_SOME_AREAS = 4
_MANY_AREAS = 32
_SHARE = 4
"""An area is large if it has this part of the changes that are sealed already."""
_MAX_TREES = 16
_MAX_ASKED = 64
_MAX_COUNTED = 1000
_CHECK_CLOSED = 10_000


T = TypeVar("T")


class SealedTree(NamedTuple):
    """A tree with the changes of the areas `tokens`, the newest first, applied: `changes` of them.
    Its new tables are in `folder`, which exists as long as this object does.
    """

    tree: kernel.Tree
    tokens: tuple[str, ...]
    changes: int
    folder: WorkFolder


class _Asked(NamedTuple):
    """`changes` were read for a page, or deletions staged; at `most_areas`, only a large area is
    sealed.
    """

    repository: Repository
    branch: str
    changes: int
    most_areas: int


class _Kept(NamedTuple):
    sealed: SealedTree
    repository: Repository
    branch: str


class SealedTrees:
    """The sealed trees of this process."""

    def __init__(
        self, branches: Branches, commits: Commits, staging: Staging, trees: Trees
    ) -> None:
        self._branches = branches
        self._commits = commits
        self._staging = staging
        self._trees = trees
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        """By the commit and the oldest area."""
        self._asked: dict[tuple[str, str], _Asked] = {}
        self._deletions: dict[tuple[str, str], _Asked] = {}
        """Those since the last tree of a branch was built, and only those of this process."""
        self._before: dict[tuple[str, str], _Asked] = {}
        """What `_deletions` was at the last call of `build`."""
        self._closed = threading.Event()

    def find(self, commit_id: str, tokens: Sequence[str]) -> SealedTree | None:
        """Returns the sealed tree of a commit and the last of these areas, if there is one. The
        caller keeps it while it reads the tree, and applies the areas before it.
        """
        kept = self._kept.get((commit_id, tokens[-1])) if tokens and self._kept else None
        if kept is None or tuple(tokens[-len(kept.sealed.tokens) :]) != kept.sealed.tokens:
            return None
        return kept.sealed

    def read(
        self, commit_id: str, tokens: Sequence[str], call: Callable[[SealedTree | None], T]
    ) -> T:
        """Returns the result of `call`, which reads the tree that `find` returns.

        If the tree's files are lost or damaged, as when something empties the folder of temporary
        files, `call` is called again without a tree.
        """
        sealed = self.find(commit_id, tokens)
        if sealed is None:
            return call(None)
        try:
            return call(sealed)
        except (Gone, Corrupt):
            self.forget(commit_id, sealed)
        return call(None)

    def forget(self, commit_id: str, sealed: SealedTree) -> None:
        """Removes a tree whose files are lost or damaged."""
        with self._lock:
            self._kept.pop((commit_id, sealed.tokens[-1]), None)

    def ask(self, repository: Repository, resolved: Resolved, changes: int) -> None:
        """Asks for a tree if a reader of a branch has read more than MANY_CHANGES that it does not
        show, or has looked into many areas for want of a tree.
        """
        tokens = resolved.tokens
        many = changes > MANY_CHANGES or (
            len(tokens) > _SOME_AREAS and self.find(resolved.commit_id, tokens) is None
        )
        if many and resolved.branch is not None:
            name = resolved.branch.branch.id
            with self._lock:
                self._ask(_Asked(repository, name, changes, _MANY_AREAS))

    def count_deletions(self, repository: Repository, branch: str, number: int) -> None:
        """Notes deletions that this process has staged, and asks for a tree when they are many."""
        key = repository.partition, branch
        with self._lock:
            if len(self._deletions) >= _MAX_COUNTED:
                self._deletions.clear()
            if key in self._deletions:
                number += self._deletions[key].changes
            self._deletions[key] = counted = _Asked(repository, branch, number, 0)
            if number >= _MANY_DELETIONS:
                self._ask(counted)

    def _ask(self, asked: _Asked) -> None:
        if len(self._asked) < _MAX_ASKED:
            self._asked[asked.repository.partition, asked.branch] = asked

    def build(self) -> int:
        """Builds the trees that were asked for, and removes those of which the branch has moved on;
        returns how many were built. Raises errors of the stores.
        """
        self._remove_outdated()
        with self._lock:
            for key, counted in list(self._deletions.items()):
                # no more were staged since: the next page is to find all of them in a tree
                if counted is self._before.get(key):
                    del self._deletions[key]
                    if counted.changes > MANY_CHANGES:
                        self._ask(counted._replace(most_areas=_MANY_AREAS))
            self._before = dict(self._deletions)
            asked, self._asked = self._asked, {}
        return sum(self._build(one) for one in asked.values() if not self._closed.is_set())

    def close(self) -> None:
        """Ends a running `build` soon, and removes all trees that are not being read."""
        self._closed.set()
        with self._lock:
            self._kept.clear()

    def _build(self, asked: _Asked) -> bool:
        """Builds the tree of a branch; returns whether there was one to build."""
        try:
            branch = self._branches.read(asked.repository, asked.branch).branch
            known = self.find(branch.commit_id, branch.sealed_tokens)
            if not areas_above(known, branch.sealed_tokens):
                if not _is_worth_an_area(asked, branch, known):
                    return False
                branch = seal_staged(
                    self._branches, self._staging, asked.repository, asked.branch
                ).branch
                # a commit may have come between
                known = self.find(branch.commit_id, branch.sealed_tokens)
        except NotFound:  # it was deleted meanwhile
            return False
        if not areas_above(known, branch.sealed_tokens):
            return False
        made = self._apply(asked.repository, branch, known)
        with self._lock:
            if self._closed.is_set():  # and not all changes may have been read
                return False
            key = (branch.commit_id, made.tokens[-1])
            self._kept[key] = _Kept(made, asked.repository, branch.id)
            self._kept.move_to_end(key)
            self._deletions.pop((asked.repository.partition, branch.id), None)
            while len(self._kept) > _MAX_TREES:
                self._kept.popitem(last=False)
        return True

    def _apply(
        self, repository: Repository, branch: Branch, known: SealedTree | None
    ) -> SealedTree:
        """Returns the tree of a branch's sealed areas, made from one that lacks some of them."""
        if known is None:
            commit = self._commits.get(repository, branch.commit_id)
            tree = self._trees.open(repository, commit.metarange_id)
            known = SealedTree(tree, (), 0, WorkFolder("sealed"))
        folder = str(known.folder.path)
        lacking = areas_above(known, branch.sealed_tokens)

        def write() -> tuple[kernel.Written, int]:
            rows = CountedRows(self._staging.rows(lacking), self._closed)
            return known.tree.apply_staged(rows, folder, unsynced=True), rows.count

        written, count = self._trees.read(write)
        tree = self._trees.open_overlay(folder, repository, written.metarange_id)
        return SealedTree(tree, branch.sealed_tokens, known.changes + count, known.folder)

    def _remove_outdated(self) -> None:
        """Removes the trees whose branches do not name their commit and areas any more."""
        with self._lock:
            all_kept = list(self._kept.items())
        for key, kept in all_kept:
            stored = self._branches.find(kept.repository, kept.branch)
            branch = stored.branch if stored else None
            if branch and self.find(branch.commit_id, branch.sealed_tokens) is kept.sealed:
                continue
            with self._lock:
                self._kept.pop(key, None)


class CountedRows(Iterable[Row]):
    """Rows, and how many were read. They end early when the event is set."""

    def __init__(self, rows: Iterator[Row], closed: threading.Event | None = None) -> None:
        self._rows = rows
        self._closed = closed or threading.Event()
        self.count = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            if self.count % _CHECK_CLOSED == 0 and self._closed.is_set():
                return
            yield row


def _is_worth_an_area(asked: _Asked, branch: Branch, known: SealedTree | None) -> bool:
    """Returns whether the active area is to be sealed; `known` has the sealed ones."""
    is_large = known is None or asked.changes >= known.changes // _SHARE
    has_room = len(branch.sealed_tokens) < asked.most_areas
    return asked.changes > MANY_CHANGES and (is_large or has_room)


def areas_above(sealed: SealedTree | None, tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Returns those of the areas, the newest first, that a tree lacks which `find` found."""
    return tokens[: len(tokens) - len(sealed.tokens)] if sealed else tokens
