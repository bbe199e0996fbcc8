"""A lake on a server, with the parts of a lake in a folder."""

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from anabranch.client.rest_client import Timeouts
from anabranch.client.settings import Found, InvalidSettings, Settings, resolve
from anabranch.lake.repository_handle import RepositoryHandles
from anabranch.model.secret import Secret
from anabranch.remote.lake_client import LakeClient
from anabranch.remote.parts import (
    Branches,
    Commits,
    Objects,
    Operations,
    Refs,
    Repositories,
    Tags,
    Workspaces,
)
from anabranch.remote.snapshots.cache_settings import CACHE_BYTES, CacheSettings, cache_settings

if TYPE_CHECKING:
    from anabranch.lake.snapshots.snapshot import Snapshot
    from anabranch.lake.spark.spark_access import SparkAccess
    from anabranch.model.references.workspace import WorkspaceKeys

__all__ = ["TIMEOUT", "RemoteLake", "connect", "lake_client"]

TIMEOUT = 600.0
"""How long a request waits for the server's next bytes, in seconds: a merge may take minutes."""

_CONNECT_TIMEOUT = 10.0


class RemoteLake(RepositoryHandles):
    """A lake on a server. May be used from several threads and pickled; copies, and forked
    processes, open connections of their own.
    """

    def __init__(
        self,
        client: LakeClient,
        cache: CacheSettings | None = None,
        keys: tuple[str, Secret] | None = None,
    ) -> None:
        self._client = client
        self._cache = cache
        self._keys = keys
        self.repositories = Repositories(client)
        self.branches = Branches(client)
        self.tags = Tags(client)
        self.commits = Commits(client)
        self.refs = Refs(client)
        self.objects = Objects(client)
        self.workspaces = Workspaces(client)
        self.operations = Operations(client)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._client, self._cache, self._keys)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._client.url!r})"

    @property
    def spark(self) -> SparkAccess:
        """The settings by which Spark reaches the server with the keys of the lake."""
        from anabranch.lake.spark.spark_access import SparkAccess  # noqa: PLC0415  seldom needed

        return SparkAccess(self._client.url, self._keys)

    def snapshot(self, repository: str, reference: str) -> Snapshot:
        """Returns the objects of the commit that a reference names now, as far as the user may read
        them: of a branch without its uncommitted changes. Raises NotFound.
        """
        from anabranch.remote.snapshots.remote_snapshot import make_snapshot  # noqa: PLC0415  the kernel is needed for snapshots alone

        return make_snapshot(self._client, self._cache or cache_settings(), repository, reference)

    def with_keys(self, keys: WorkspaceKeys | None) -> RemoteLake:
        """Returns the lake of this server whose requests have the token of a workspace; itself
        without keys.
        """
        if keys is None:
            return self
        pair = keys.access_key_id, keys.secret
        return RemoteLake(self._client.with_token(keys.token), self._cache, pair)

    def close(self) -> None:
        """Closes all connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def connect(
    url: str | None = None,
    access_key_id: str | None = None,
    secret_access_key: str | None = None,
    *,
    token: str | None = None,
    timeout: float = TIMEOUT,
    cache_folder: str | os.PathLike[str] | None = None,
    cache_bytes: int = CACHE_BYTES,
) -> RemoteLake:
    """Returns the lake of the server at `url`, with a key pair or a token. What is not given comes
    from `ANABRANCH_SERVER`, `ANABRANCH_ACCESS_KEY_ID`, `ANABRANCH_SECRET_ACCESS_KEY` and
    `ANABRANCH_TOKEN`, else from what `anabranch login` wrote, else from `~/.lakectl.yaml`. Requests
    fail after `timeout` seconds without a byte of the server, or 10 without a connection.

    Snapshots keep tables of commits in `cache_folder`, of at most `cache_bytes`: by default in the
    folder that `ANABRANCH_CACHE_FOLDER` names, else in `~/.cache/anabranch/tables`.

    Sends no request yet. Raises Invalid for an address or settings that are wrong, and for a
    folder.
    """
    settings = lake_settings(url, access_key_id, secret_access_key, token)
    pair = settings.access_key_id, settings.secret_access_key
    keys = (pair[0], Secret(pair[1])) if all(pair) and not settings.token else None
    cache = cache_settings(cache_folder, cache_bytes)
    return RemoteLake(_client_of(settings, timeout), cache, keys)


def lake_client(
    url: str | None,
    access_key_id: str | None,
    secret_access_key: str | None,
    token: str | None,
    timeout: float,
) -> LakeClient:
    """Returns the client that the arguments of `connect` describe. Raises Invalid."""
    return _client_of(lake_settings(url, access_key_id, secret_access_key, token), timeout)


def lake_settings(
    url: str | None,
    access_key_id: str | None,
    secret_access_key: str | None,
    token: str | None,
) -> Settings:
    """Returns the address and the credentials that the arguments of `connect` describe. Raises
    Invalid.
    """
    if url is not None and "://" not in url:
        raise InvalidSettings(
            f"{url!r} is not the address of a server",
            kind="not_an_address",
            hint="Write it like https://lake.example.com. To use a folder, call anabranch.open.",
        )
    values = {
        "server": ("url", url),
        "access_key_id": ("access_key_id", access_key_id),
        "secret_access_key": ("secret_access_key", secret_access_key),
        "token": ("token", token),
    }
    given: Found = {name: (value, place) for name, (place, value) in values.items() if value}
    return resolve(os.environ, given=given)


def _client_of(settings: Settings, timeout: float) -> LakeClient:
    timeouts = Timeouts(timeout, timeout, min(timeout, _CONNECT_TIMEOUT))
    try:
        return LakeClient(settings.server, settings.authorization, timeouts=timeouts)
    except ValueError as error:
        raise InvalidSettings(
            f"{settings.server}: {error}",
            hint="Correct the address of the server, or of the proxy in the environment.",
            where=settings.sources["server"],
        ) from error
