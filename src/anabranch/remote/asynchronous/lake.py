"""A lake on a server, for asyncio."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from anabranch.model.references.lifetime import parse_lifetime
from anabranch.model.references.workspace import WorkspaceKeys
from anabranch.model.references.workspace_request import WorkspaceRequest
from anabranch.remote.asynchronous.parts import (
    Branches,
    Commits,
    Objects,
    Operations,
    Refs,
    Repositories,
    Tags,
    Workspaces,
)
from anabranch.remote.asynchronous.threads import Threads
from anabranch.remote.asynchronous.workspace import AsyncWorkspace
from anabranch.remote.lake import TIMEOUT, lake_client
from anabranch.remote.lake_client import LakeClient
from anabranch.remote.snapshots.cache_settings import CACHE_BYTES, CacheSettings, cache_settings

if TYPE_CHECKING:
    from anabranch.lake.snapshots.snapshot import Snapshot

__all__ = ["MAX_REQUESTS", "AsyncLake", "connect"]

MAX_REQUESTS = 32
"""How many requests are sent at once; others wait for a thread."""


class AsyncLake:
    """A lake on a server, whose methods are awaited. May be used by several event loops, and
    pickled; copies, and forked processes, have connections and threads of their own.
    """

    def __init__(
        self, client: LakeClient, max_requests: int, cache: CacheSettings | None = None
    ) -> None:
        self._client = client
        self._cache = cache
        self._max_requests = max_requests
        self._threads = Threads(max_requests)
        self.repositories = Repositories(client, self._threads)
        self.branches = Branches(client, self._threads)
        self.tags = Tags(client, self._threads)
        self.workspaces = Workspaces(client, self._threads)
        self.operations = Operations(client, self._threads)
        self.commits = Commits(client, self._threads)
        self.refs = Refs(client, self._threads)
        self.objects = Objects(client, self._threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._client, self._max_requests, self._cache)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.url!r})"

    async def snapshot(self, repository: str, reference: str) -> Snapshot:
        """Returns the objects of the commit that a reference names now, as far as the user may read
        them. Its methods are not awaited: look-ups are made in memory, and reads wait, so that they
        belong in a thread (`asyncio.to_thread`). Raises NotFound.
        """

        def make() -> Snapshot:
            from anabranch.remote.snapshots.remote_snapshot import make_snapshot  # noqa: PLC0415  the kernel is needed for snapshots alone

            return make_snapshot(
                self._client, self._cache or cache_settings(), repository, reference
            )

        return await self._threads.run(make)

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
    ) -> AsyncWorkspace:
        """Returns a workspace that an `async with` block creates at `source`, by default the
        repository's default branch, and deletes at the end, unless it was proposed or kept. Raises
        Invalid for a wrong lifetime.
        """
        request = WorkspaceRequest(
            source=source,
            seconds=parse_lifetime(expires),
            readable=tuple(readable),
            writable=tuple(writable),
            purpose=purpose,
            run_id=run_id,
            metadata=metadata or {},
            branch=name,
        )
        return AsyncWorkspace(self, repository, request)

    def with_keys(self, keys: WorkspaceKeys | None) -> AsyncLake:
        """Returns the lake of this server whose requests have the token of a workspace; itself
        without keys.
        """
        if keys is None:
            return self
        return AsyncLake(self._client.with_token(keys.token), self._max_requests, self._cache)

    async def close(self) -> None:
        """Closes the connections. Requests that wait for a thread are not sent; others end by
        themselves.
        """
        self._threads.close()
        self._client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def connect(
    url: str | None = None,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    *,
    token: str | None = None,
    timeout: float = TIMEOUT,
    max_requests: int = MAX_REQUESTS,
    cache_folder: str | os.PathLike[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> AsyncLake:
    """Returns the lake of a server for asyncio, as `anabranch.connect` does. At most `max_requests`
    are sent at once.

    Sends no request yet. Raises Invalid for an address or settings that are wrong.
    """
    client = lake_client(url, access_key_id, secret_access_key, token, timeout)
    return AsyncLake(client, max_requests, cache_settings(cache_folder, cache_bytes))
