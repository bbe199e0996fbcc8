"""A part of the stubs of `_kernel`, not a module: the history of a repository in memory."""

from collections.abc import Iterator, Sequence
from typing import final

from anabranch._kernel import Tree

@final
class CommitGraph:
    """Commits in memory, and which paths each changed. Methods raise KernelError for a commit that
    was not added, and walks also for a missing parent.
    """

    def __len__(self) -> int: ...
    def __contains__(self, commit_id: str) -> bool: ...
    def add(self, records: Sequence[bytes]) -> None:
        """Adds CommitData records, with or after those of their parents. Ignores known ones."""
    def set_changed(self, rows: Sequence[tuple[str, bytes]]) -> int:
        """Sets what commits changed, as (id, stored form); returns how many were valid."""
    def is_unknown(self, commit_id: str) -> bool:
        """Returns whether it is unknown what the commit changed."""
    def merge_bases(self, left: str, right: str) -> list[str]:
        """Returns the best common ancestors. Raises KernelError if generations are unknown."""
    def last_candidate(
        self, commit_id: str, paths: Sequence[bytes], prefixes: Sequence[bytes]
    ) -> tuple[str, list[int]]:
        """Returns the first commit along first parents that may have changed a path or prefix or
        has no parent, and the positions of those in both lists.
        """
    def first_parent_ancestor(self, commit_id: str, count: int) -> tuple[str, int]:
        """Returns the ancestor that is `count` first parents back, and how many were followed:
        fewer if the history ends before.
        """
    def log(
        self,
        commit_id: str,
        paths: Sequence[bytes] | None = None,
        prefixes: Sequence[bytes] | None = None,
        *,
        first_parent: bool = False,
        since: tuple[int, int] | None = None,
        stop_at: str | None = None,
        after: str | None = None,
    ) -> Iterator[str]:
        """Yields the ids of the commits of the log; with paths or prefixes, of those with one
        parent that may have changed one.
        """

def encode_changed_paths(commit_id: str, changed: bytes) -> bytes:
    """Returns the stored form of what a commit changed."""

def changed_paths_between(before: Tree, after: Tree) -> bytes:
    """Returns the paths in which two trees differ, for `encode_changed_paths`."""
