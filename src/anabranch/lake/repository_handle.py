"""A repository of a lake: its branches, tags and other references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from anabranch.lake.branch_handle import BranchHandle
from anabranch.lake.paging import PAGE_SIZE, all_items
from anabranch.lake.reference_handle import ReferenceHandle
from anabranch.lake.workspace_handle import WorkspaceHandle
from anabranch.model.references.lifetime import parse_lifetime
from anabranch.model.references.workspace_request import WorkspaceRequest

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

    def workspace(
        self: AnyLake,
        repository: str,
        *,
        source: str = "",
        readable: Sequence[str] = (),
        writable: Sequence[str] = (),
        expires: str = "24h",
        purpose: str = "",
        run_id: str = "",
        metadata: Mapping[str, str] | None = None,
        name: str = "",
    ) -> WorkspaceHandle:
        """Creates a workspace at `source`, by default the repository's default branch: a block that
        deletes it at the end, unless it was proposed or kept.

        with lake.workspace("sea", writable=["out/**"], expires="1h") as ws:
            ws.write("out/depth.csv", rows)
            ws.propose("Depths of June")
        """
        request = WorkspaceRequest(
            source=source or self.repositories.get(repository).default_branch,
            seconds=parse_lifetime(expires),
            readable=tuple(readable),
            writable=tuple(writable),
            purpose=purpose,
            run_id=run_id,
            metadata=metadata or {},
            branch=name,
        )
        opened = self.workspaces.create(repository, request)
        return WorkspaceHandle(self.with_keys(opened.keys), self, repository, opened)
