"""The type of a lake, in a folder or on a server."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from anabranch.lake.objects import Objects
from anabranch.lake.references import Branches, Commits, Refs, Repositories, Tags
from anabranch.lake.repository_handle import RepositoryHandle

if TYPE_CHECKING:
    from anabranch.lake.snapshots.snapshot import Snapshot

__all__ = ["AnyLake"]


@runtime_checkable
class AnyLake(Protocol):
    """A lake that `anabranch.open` or `anabranch.connect` returns. A context manager: `close` ends
    its use.
    """

    @property
    def repositories(self) -> Repositories:
        """Create, list, delete repositories."""

    @property
    def branches(self) -> Branches:
        """Create, list, delete, reset branches; revert and cherry-pick."""

    @property
    def tags(self) -> Tags:
        """Create, list, delete tags."""

    @property
    def commits(self) -> Commits:
        """Commit, read a commit, log."""

    @property
    def refs(self) -> Refs:
        """Differences of objects and rows, merges, previews of merges."""

    @property
    def objects(self) -> Objects:
        """Upload, open, list, copy, delete objects."""

    def repository(self, name: str) -> RepositoryHandle:
        """Returns a repository by its name, without looking whether it exists."""

    def snapshot(self, repository: str, reference: str) -> Snapshot:
        """Returns the objects of the commit that a reference names now: of a branch without its
        uncommitted changes. Raises NotFound.
        """

    def close(self) -> None:
        """Ends running work and closes stores and connections."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
