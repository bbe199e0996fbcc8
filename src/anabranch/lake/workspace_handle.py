"""A workspace of a lake: its branch, checkpoints and proposal, as a block that ends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from anabranch.errors import Denied
from anabranch.lake.branch_handle import BranchHandle
from anabranch.lake.paging import PAGE_SIZE, all_items
from anabranch.model.commits.change import Change
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE
from anabranch.model.objects.stat import Stat
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.references.workspace import Checkpoint, OpenWorkspace, WorkspaceKeys
from anabranch.model.references.writable_paths import may_write

if TYPE_CHECKING:
    from anabranch.lake.any_lake import AnyLake

__all__ = ["WorkspaceHandle"]


class WorkspaceHandle(BranchHandle):
    """A new workspace. On a server, its requests are sent with its own keys, those that end it with
    the keys of its creator; in a folder, it refuses to write other paths itself.

    As a context manager, it deletes the workspace at the end of the block, unless it was proposed
    or kept.
    """

    def __init__(
        self, lake: AnyLake, owner: AnyLake, repository: str, opened: OpenWorkspace
    ) -> None:
        super().__init__(lake, repository, opened.workspace.branch)
        self._owner = owner
        self._opened = opened
        self._stays = False

    @property
    def keys(self) -> WorkspaceKeys | None:
        """The token and the key pair, None in a folder."""
        return self._opened.keys

    @property
    def expires_at(self) -> int:
        """When the workspace ends, in seconds since 1970."""
        return self._opened.branch.expires_at

    @property
    def source_commit(self) -> str:
        """The id of the commit at which it began."""
        return self._opened.workspace.source_commit

    def write(
        self,
        path: str,
        content: bytes | str | Iterable[bytes],
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] | None = None,
        if_absent: bool = False,
    ) -> Stat:
        """Stores an object with a writable path, uncommitted. Raises Denied for other paths."""
        self._require_writable(path)
        return super().write(
            path, content, content_type=content_type, metadata=metadata, if_absent=if_absent
        )

    def open(
        self, path: str, mode: str = "r", *, encoding: str = "utf-8", newline: str | None = None
    ) -> Any:
        """Returns an object as a file, as of a branch. Raises Denied for writing other paths."""
        if mode in {"w", "wt", "wb"}:
            self._require_writable(path)
        return super().open(path, mode, encoding=encoding, newline=newline)  # type: ignore[call-overload]

    def remove(self, path: str) -> None:
        """Deletes an object with a writable path, if it exists. Raises Denied for other paths."""
        self._require_writable(path)
        super().remove(path)

    def merge(self, *_: Any, **__: Any) -> NoReturn:
        """Raises Denied: merges bring what the workspace does not reach."""
        raise _outside("a merge")

    def transaction(self, *_: Any, **__: Any) -> NoReturn:
        """Raises Denied: transactions are branches of their own. Use checkpoints."""
        raise _outside("a transaction")

    def checkpoint(self, label: str, message: str = "") -> Checkpoint:
        """Commits what was written, under a label that was not used yet."""
        return self._lake.workspaces.checkpoint(self.repository, self.name, label, message=message)

    def restore(self, checkpoint: str) -> Checkpoint:
        """Returns to a checkpoint, or to `source`; what was written since is dropped."""
        return self._lake.workspaces.restore(self.repository, self.name, checkpoint)

    def undo(self, operation_id: str = "") -> LoggedOperation:
        """Undoes a commit, a restore or a reset in the workspace, by default the last one that is
        not undone, and returns the operation; what it has dropped returns.
        """
        return self._lake.workspaces.undo(self.repository, self.name, operation_id)

    def changed(self, prefix: str = "") -> Iterator[Change]:
        """Yields what has changed since the workspace began, also without a commit."""
        return all_items(
            lambda after: self._lake.workspaces.diff(
                self.repository, self.name, prefix=prefix, after=after, amount=PAGE_SIZE
            )
        )

    def propose(self, title: str = "", *, destination: str = "", description: str = "") -> str:
        """Commits the rest and opens a pull request; returns its id. The workspace then stays."""
        proposed = self._lake.workspaces.propose(
            *(self.repository, self.name),
            destination=destination,
            title=title,
            description=description,
        )
        self._stays = True
        return proposed.id

    def keep(self) -> None:
        """Lets the workspace stay after the block, until it expires."""
        self._stays = True

    def discard(self) -> None:
        """Deletes the workspace with its branch."""
        self._stays = True
        self._owner.workspaces.discard(self.repository, self.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._stays:
            self.discard()
        if self._lake is not self._owner:
            self._lake.close()

    def _require_writable(self, path: str) -> None:
        if not may_write(self._opened.workspace.writable, path):
            raise _outside(repr(path))


def _outside(what: str) -> Denied:
    return Denied(
        f"{what} is out of reach of a workspace",
        kind="outside_workspace",
        hint="Name what it writes when it is made: lake.workspace(…, writable=['out/**']).",
    )
