"""The type of a lake, in a folder or on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from anabranch.lake.objects import Objects
from anabranch.lake.references import Branches, Commits, Refs, Repositories, Tags
from anabranch.lake.repository_handle import RepositoryHandle
from anabranch.lake.workspace_handle import WorkspaceHandle
from anabranch.lake.workspaces import Workspaces
from anabranch.model.references.workspace import WorkspaceKeys

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

    @property
    def workspaces(self) -> Workspaces:
        """Create, list, checkpoint, propose, discard workspaces."""

    def workspace(
        self,
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
        """Creates a workspace: a block that deletes it at the end, unless it was proposed."""

    def with_keys(self, keys: WorkspaceKeys | None) -> AnyLake:
        """Returns the lake as the keys of a workspace reach it; itself without keys."""

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
