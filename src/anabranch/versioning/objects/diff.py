"""Diffs: the changes between two trees, or between a branch's head and its staging areas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from anabranch import _kernel as kernel
from anabranch.errors import Corrupt, Gone
from anabranch.model.commits.change import Change, ChangeKind
from anabranch.model.commits.commit import Commit
from anabranch.model.names import decode_key, encode_path
from anabranch.model.page import Page, upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.objects.sealed_trees import CountedRows, SealedTrees, areas_above
from anabranch.versioning.records.entries import Value, entry_from
from anabranch.versioning.references.references import Resolved
from anabranch.versioning.staging.area import Staging
from anabranch.versioning.trees.trees import Trees

__all__ = ["Differ"]

_Row = tuple[str, bytes, Value | None, Value | None]


class Differ:
    """Compares trees of commits and staging areas."""

    def __init__(
        self, commits: Commits, staging: Staging, trees: Trees, sealed_trees: SealedTrees
    ) -> None:
        self._commits = commits
        self._staging = staging
        self._trees = trees
        self._sealed_trees = sealed_trees

    @contextmanager
    def tree_at(self, repository: Repository, resolved: Resolved) -> Iterator[kernel.Tree]:
        """Yields the tree of a reference, staged changes included."""
        commit = self._commits.get(repository, resolved.commit_id)
        if not resolved.tokens:
            yield self._tree(repository, commit)
            return
        sealed = self._sealed_trees.find(resolved.commit_id, resolved.tokens)
        metarange_id = sealed.tree.metarange_id if sealed else commit.metarange_id
        folders = [str(sealed.folder.path)] if sealed else []
        rows = CountedRows(self._staging.rows(areas_above(sealed, resolved.tokens)))
        try:
            with self._trees.overlaid(repository, metarange_id, rows, *folders) as tree:
                self._sealed_trees.ask(repository, resolved, rows.count)
                yield tree
        except (Gone, Corrupt):
            if sealed:
                self._sealed_trees.forget(resolved.commit_id, sealed)
            raise

    def two_dot(
        self,
        left: kernel.Tree,
        right: kernel.Tree,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> Page[Change]:
        """Returns a page of the changes from `left` to `right`."""
        page = self._trees.read(
            left.diff,
            right,
            prefix=encode_path(prefix),
            after=encode_path(after),
            delimiter=encode_path(delimiter),
            amount=amount,
        )
        return _page(page.rows, has_more=page.has_more)

    def three_dot(
        self,
        destination: kernel.Tree,
        source: kernel.Tree,
        base: kernel.Tree,
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> Page[Change]:
        """Returns a page of the changes that merging `source` into `destination` would make there,
        given their merge base.
        """
        page = self._trees.read(
            destination.compare,
            source,
            base,
            prefix=encode_path(prefix),
            after=encode_path(after),
            delimiter=encode_path(delimiter),
            amount=amount,
        )
        return _page(page.rows, has_more=page.has_more)

    def uncommitted(
        self,
        repository: Repository,
        commit: Commit,
        tokens: Sequence[str],
        *,
        prefix: str = "",
        after: str = "",
        delimiter: str = "",
        amount: int,
    ) -> Page[Change]:
        """Returns a page of the changes from a commit to the staging areas `tokens` over it."""
        stem, mark = encode_path(prefix), encode_path(delimiter)
        start = max(stem, _next(encode_path(after), stem, mark)) if after else stem
        rows: list[_Row] = []
        more = True
        while more and len(rows) <= amount:
            more = False
            for row in self._staged_rows(repository, commit, tokens, start, upper_bound(stem)):
                rows.append(_collapse(row, stem, mark))
                more = rows[-1] is not row
                if more or len(rows) > amount:
                    # skip the members of a common prefix instead of reading them
                    start = _next(rows[-1][1], stem, mark)
                    break
        return _page(rows[:amount], has_more=len(rows) > amount)

    def is_dirty(self, repository: Repository, commit_id: str, tokens: Sequence[str]) -> bool:
        """Returns whether the staging areas change anything over a commit."""
        commit = self._commits.get(repository, commit_id)
        return next(self._staged_rows(repository, commit, tokens, b"", None), None) is not None

    def touched(
        self, repository: Repository, objects: Sequence[str], prefixes: Sequence[str]
    ) -> Callable[[Commit, Commit | None], bool]:
        """Returns a function that returns whether a commit changed one of these objects, or any
        object under one of these prefixes, compared with its parent.
        """

        def differ(before: kernel.Tree, tree: kernel.Tree) -> bool:
            return any(
                _identity(tree.get(encode_path(path))) != _identity(before.get(encode_path(path)))
                for path in objects
            ) or any(
                before.diff(tree, prefix=encode_path(prefix), amount=1).rows for prefix in prefixes
            )

        def changed(commit: Commit, parent: Commit | None) -> bool:
            tree = self._tree(repository, commit)
            before = self._trees.open(repository, parent.metarange_id if parent else "")
            return self._trees.read(differ, before, tree)

        return changed

    def _tree(self, repository: Repository, commit: Commit) -> kernel.Tree:
        return self._trees.open(repository, commit.metarange_id)

    def _staged_rows(
        self,
        repository: Repository,
        commit: Commit,
        tokens: Sequence[str],
        start: bytes,
        end: bytes | None,
    ) -> Iterator[_Row]:
        """Yields the staged changes that differ from the commit."""
        tree = self._tree(repository, commit)
        for key, staged in self._staging.changes(tokens, start, end):
            committed = self._trees.read(tree.get, key)
            if _identity(committed) == _identity(staged):
                continue
            kind = "removed" if staged is None else "changed" if committed else "added"
            yield kind, key, committed, staged


def _identity(value: Value | None) -> bytes | None:
    return None if value is None else value[0]


def _collapse(row: _Row, prefix: bytes, delimiter: bytes) -> _Row:
    """Returns the row or, if its key has a delimiter after the prefix, the common prefix's row."""
    at = row[1].find(delimiter, len(prefix)) if delimiter else -1
    return row if at < 0 else ("prefix_changed", row[1][: at + len(delimiter)], None, None)


def _next(key: bytes, prefix: bytes, delimiter: bytes) -> bytes:
    """Returns the key where a page continues after a row: after all members of a common prefix."""
    if delimiter and len(key) > len(prefix) and key.endswith(delimiter):
        return upper_bound(key) or key + b"\xff"
    return key + b"\x00"


def _page(rows: Sequence[_Row], *, has_more: bool) -> Page[Change]:
    changes = [_change(*row) for row in rows]
    return Page(changes, has_more, changes[-1].path if has_more and changes else "")


def _change(kind: str, key: bytes, left: Value | None, right: Value | None) -> Change:
    return Change(
        kind=_KINDS[kind],
        path=decode_key(key),
        left=None if left is None else entry_from(left),
        right=None if right is None else entry_from(right),
    )


_KINDS: dict[str, ChangeKind] = {
    "added": "added",
    "removed": "removed",
    "changed": "changed",
    "conflict": "conflict",
    "prefix_changed": "prefix_changed",
}
