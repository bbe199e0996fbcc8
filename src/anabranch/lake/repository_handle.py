"""A repository of a lake: its branches, tags and other references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anabranch.lake.branch_handle import BranchHandle
from anabranch.lake.paging import PAGE_SIZE, all_items
from anabranch.lake.reference_handle import ReferenceHandle

if TYPE_CHECKING:
    from anabranch.lake.any_lake import AnyLake
    from anabranch.lake.snapshots.snapshot import Snapshot

__all__ = ["RepositoryHandle", "RepositoryHandles"]


class RepositoryHandle:
    """A repository by its name: each method looks it up, and raises NotFound."""

    def __init__(self, lake: AnyLake, name: str) -> None:
        self._lake = lake
        self.name = name

    def __repr__(self) -> str:
        return f"{type(self).__name__}('lakefs://{self.name}')"

    def branch(self, name: str) -> BranchHandle:
        """Returns a branch by its name, without looking whether it exists."""
        return BranchHandle(self._lake, self.name, name)

    def ref(self, name: str) -> ReferenceHandle:
        """Returns a tag, a commit or an expression such as `main~2`, without looking whether it
        exists.
        """
        return ReferenceHandle(self._lake, self.name, name)

    def snapshot(self, reference: str) -> Snapshot:
        """Returns the objects of the commit that a reference names now."""
        return self._lake.snapshot(self.name, reference)

    def branches(self, prefix: str = "") -> Iterator[BranchHandle]:
        """Yields the branches whose names begin with a prefix."""
        found = all_items(
            lambda after: self._lake.branches.list(
                self.name, prefix=prefix, after=after, amount=PAGE_SIZE
            )
        )
        return (self.branch(each.id) for each in found)

    def tags(self, prefix: str = "") -> Iterator[ReferenceHandle]:
        """Yields the tags whose names begin with a prefix."""
        found = all_items(
            lambda after: self._lake.tags.list(
                self.name, prefix=prefix, after=after, amount=PAGE_SIZE
            )
        )
        return (self.ref(each.id) for each in found)


class RepositoryHandles:
    """The method of a lake that returns its repositories by name."""

    def repository(self: AnyLake, name: str) -> RepositoryHandle:
        """Returns a repository by its name, without looking whether it exists."""
        return RepositoryHandle(self, name)
