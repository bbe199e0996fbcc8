"""A workspace of a lake on a server, for asyncio: a block that creates and ends it."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from anabranch.lake.paging import PAGE_SIZE
from anabranch.model.commits.change import Change
from anabranch.model.objects.entry import DEFAULT_CONTENT_TYPE
from anabranch.model.objects.stat import Stat
from anabranch.model.references.operation import LoggedOperation
from anabranch.model.references.workspace import Checkpoint, OpenWorkspace, WorkspaceKeys
from anabranch.model.references.workspace_request import WorkspaceRequest

if TYPE_CHECKING:
    from anabranch.remote.asynchronous.lake import AsyncLake

__all__ = ["AsyncWorkspace"]


class AsyncWorkspace:
    """A workspace that exists within an `async with` block: it is created where the block begins,
    and deleted where it ends, unless it was proposed or kept. Its requests are sent with its own
    keys, those that create and end it with the keys of its creator.
    """

    def __init__(self, owner: AsyncLake, repository: str, request: WorkspaceRequest) -> None:
        self.repository = repository
        self._owner = owner
        self._request = request
        self._stays = False
        self._lake: AsyncLake
        self._opened: OpenWorkspace

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of {self.repository}>"

    @property
    def name(self) -> str:
        """The name of its branch."""
        return self._opened.workspace.branch

    @property
    def keys(self) -> WorkspaceKeys | None:
        """The token and the key pair."""
        return self._opened.keys

    @property
    def expires_at(self) -> int:
        """When the workspace ends, in seconds since 1970."""
        return self._opened.branch.expires_at

    async def __aenter__(self) -> Self:
        request = self._request
        if not request.source:
            repository = await self._owner.repositories.get(self.repository)
            request = msgspec.structs.replace(request, source=repository.default_branch)
        self._opened = await self._owner.workspaces.create(self.repository, request)
        self._lake = self._owner.with_keys(self._opened.keys)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if not self._stays:
                await self.discard()
        finally:
            if self._lake is not self._owner:
                await self._lake.close()

    async def read(self, path: str) -> bytes:
        """Returns the bytes of an object. Raises NotFound and Denied."""
        opened = await self._lake.objects.open(self.repository, self.name, path)
        return await opened.read_bytes()

    async def write(
        self,
        path: str,
        content: bytes | str | Iterable[bytes] | AsyncIterable[bytes],
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] | None = None,
        if_absent: bool = False,
    ) -> Stat:
        """Stores an object with a writable path, uncommitted: bytes, text as UTF-8, or chunks of
        bytes. Raises Denied for other paths.
        """
        if isinstance(content, str):
            content = content.encode()
        chunks = [content] if isinstance(content, bytes) else content
        return await self._lake.objects.upload(
            *(self.repository, self.name, path, chunks),
            content_type=content_type,
            metadata=metadata,
            if_absent=if_absent,
        )

    async def remove(self, path: str) -> None:
        """Deletes an object with a writable path, if it exists. Raises Denied for other paths."""
        await self._lake.objects.delete(self.repository, self.name, path)

    async def checkpoint(self, label: str, message: str = "") -> Checkpoint:
        """Commits what was written, under a label that was not used yet."""
        workspaces = self._lake.workspaces
        return await workspaces.checkpoint(self.repository, self.name, label, message=message)

    async def restore(self, checkpoint: str) -> Checkpoint:
        """Returns to a checkpoint, or to `source`; what was written since is dropped."""
        return await self._lake.workspaces.restore(self.repository, self.name, checkpoint)

    async def undo(self, operation_id: str = "") -> LoggedOperation:
        """Undoes a commit, a restore or a reset in the workspace, by default the last one that is
        not undone, and returns the operation; what it has dropped returns.
        """
        return await self._lake.workspaces.undo(self.repository, self.name, operation_id)

    async def changed(self, prefix: str = "") -> AsyncIterator[Change]:
        """Yields what has changed since the workspace began, also without a commit."""
        after, has_more = "", True
        while has_more:
            page = await self._lake.workspaces.diff(
                *(self.repository, self.name), prefix=prefix, after=after, amount=PAGE_SIZE
            )
            for each in page.items:
                yield each
            after, has_more = page.next_offset, page.has_more

    async def propose(
        self, title: str = "", *, destination: str = "", description: str = ""
    ) -> str:
        """Commits the rest and opens a pull request; returns its id. The workspace then stays."""
        proposed = await self._lake.workspaces.propose(
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

    async def discard(self) -> None:
        """Deletes the workspace with its branch."""
        self._stays = True
        await self._owner.workspaces.discard(self.repository, self.name)
