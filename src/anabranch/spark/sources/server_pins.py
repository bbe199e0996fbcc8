"""Pins of commits in a repository of a server."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.errors import NotFound
from anabranch.spark.sources.repositories_client import RepositoriesClient

__all__ = ["UNKNOWN_OPERATION", "ServerPin"]

_log = logging.getLogger(__name__)

_TIMEOUT = 60.0
"""The timeout of requests, in seconds."""

_RELEASE_TIMEOUT = 5.0
"""The timeout of a release, in seconds. It is short, because a pin that is not released expires."""

UNKNOWN_OPERATION = "invalid API endpoint"
"""The error message of servers without this operation: lakeFS, and older versions of Anabranch."""


class ServerPin:
    """A pin in a repository of a server. It does nothing if the server does not support pins."""

    def __init__(self, client: RepositoriesClient, repository: str, name: str = "") -> None:
        self._client = client
        self._segments = (repository, "gc", "pins", name or str(uuid.uuid4()))
        self._supported = True

    def pin(self, commit_ids: Sequence[str], seconds: int) -> None:
        """Pins commits for `seconds`."""
        try:
            self._change("PUT", body={"commits": list(commit_ids), "seconds": seconds})
        except NotFound as error:
            if UNKNOWN_OPERATION not in error.message:
                raise
            self._supported = False
            _log.warning(
                "%s: this server cannot pin commits: garbage collection may remove objects of "
                "commits that expire while they are read",
                self._client.url,
            )

    def renew(self, seconds: int) -> None:
        """Renews the pin for `seconds`. Leases repeat a failed renewal until the pin may have
        expired, so the request is sent once.
        """
        self._change("POST", "renew", query={"seconds": str(seconds)}, retry=False)

    def release(self) -> None:
        """Removes the pin."""
        self._change("DELETE", timeout=_RELEASE_TIMEOUT, retry=False)

    def _change(
        self,
        method: str,
        *segments: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        timeout: float = _TIMEOUT,
        retry: bool = True,
    ) -> None:
        if self._supported:
            self._client.change(
                *(method, *self._segments, *segments),
                body=body,
                query=query,
                timeout=timeout,
                retry=retry,
            )
