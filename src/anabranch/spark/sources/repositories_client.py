"""Client of the repositories of a server, for the driver and for tasks.

It sends each request once: Spark repeats tasks, and a job decides what to do after an error. A
failed request that only reads raises Busy. One that changes something may have arrived although its
response did not: that raises OutcomeUnknown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from anabranch.client.rest_client import (
    Content,
    Request,
    RestClient,
    Timeouts,
    basic_authorization,
)
from anabranch.client.retry_policy import NO_RETRIES
from anabranch.errors import Invalid

__all__ = ["RepositoriesClient"]

_TIMEOUTS = Timeouts(read=60, change=900, connect=None)
"""A commit or a merge of very many objects is answered only when it is done."""


class RepositoriesClient:
    """Requests below `/repositories` of the server at `url`; segments are those of the path after
    that. All raise NotFound and the other errors of response statuses, and Busy without a response.
    """

    def __init__(self, url: str, access_key_id: str, secret_access_key: str) -> None:
        self.url = url
        authorization = basic_authorization(access_key_id, secret_access_key)
        try:
            # a reused connection may break at any request, and none is sent again
            self._client = RestClient(
                *(url, authorization), timeouts=_TIMEOUTS, retries=NO_RETRIES, keep_alive=False
            )
        except ValueError as error:
            raise Invalid(
                f"{url}: {error}",
                hint="Correct the address of the server, or of the proxy in the environment.",
            ) from error

    def storage_config(self) -> Any:
        """Returns the configuration of the server's store."""
        return self._client.get("config").get("storage_config") or {}

    def get(self, *segments: str, **query: str) -> Any:
        """Returns the JSON of a response."""
        return self._client.get("repositories", *segments, **query)

    def items(self, *segments: str, **query: str) -> Iterator[Any]:
        """Yields the items of a listing, of all pages."""
        return iter(self._client.pages("repositories", *segments, amount=None, **query))

    def download(self, *segments: str) -> AbstractContextManager[Content]:
        """Gives a body, which is streamed."""
        return self._client.download("repositories", *segments)

    def change(
        self,
        method: str,
        *segments: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> bytes:
        """Sends a request that changes something and returns the body of the response. Raises
        OutcomeUnknown if it was sent and no response came within `timeout` seconds.
        """
        request = Request(
            *(method, ("repositories", *segments), query or {}),
            headers={} if body is None else {"Content-Type": "application/json"},
            content=None if body is None else json.dumps(body).encode(),
            timeout=timeout,
        )
        return self._client.read(request, self._client.exchange(request))
