"""Client of the repositories of a server, for the driver and for tasks.

Requests that the server throttles, or that did not reach a server which has responded before, are
sent again with increasing delays, for up to a minute in total; so are reads without a response. A
read that fails nevertheless raises Busy. A change without a response may have been performed, so it
is not sent again and raises OutcomeUnknown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from anabranch.client.authorization import basic_authorization
from anabranch.client.error_responses import ErrorResponse
from anabranch.client.rest_client import (
    Content,
    Request,
    RestClient,
    Timeouts,
)
from anabranch.client.retry_policy import NO_RETRIES, RetryPolicy
from anabranch.client.transport import Response
from anabranch.errors import AnabranchError, Invalid, Unauthenticated

__all__ = ["RETRIES", "RepositoriesClient"]

RETRIES = RetryPolicy(attempts=8)
"""The delays between attempts double from 0.4 to 26 seconds."""

_TIMEOUTS = Timeouts(read=60, change=900, connect=None)
"""The server responds to a commit or a merge only when it has finished, which may take minutes."""


class _Client(RestClient):
    """Tells a key pair that was accepted before from one that never was."""

    _accepted = False

    def exchange(self, request: Request) -> Response:
        """Returns the response to a request if its status is a success."""
        response = super().exchange(request)
        self._accepted = True
        return response

    def status_error(self, request: Request, response: ErrorResponse) -> AnabranchError:
        """Returns the error that a response stands for."""
        error = super().status_error(request, response)
        if self._accepted and isinstance(error, Unauthenticated):
            return Unauthenticated(
                f"{error.message}: the server no longer accepts the key pair, which it accepted "
                "before",
                kind=error.kind,
                hint="Run it again with a key pair that is valid.",
            )
        return error


class RepositoriesClient:
    """Sends requests for resources under `/repositories` of the server at `url`; `segments` are the
    segments of the path after that. All methods raise NotFound and the other errors of response
    statuses, and Busy without a response.
    """

    def __init__(
        self,
        url: str,
        access_key_id: str,
        secret_access_key: str,
        retries: RetryPolicy = RETRIES,
    ) -> None:
        self.url = url
        self.retries = retries
        authorization = basic_authorization(access_key_id, secret_access_key)
        try:
            # requests on a reused connection can fail when the server closes it, and changes are
            # not sent again then
            self._client, self._single = (
                _Client(*(url, authorization), timeouts=_TIMEOUTS, retries=each, keep_alive=False)
                for each in (retries, NO_RETRIES)
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
        """Gives the body of a response as a stream."""
        return self._client.download("repositories", *segments)

    def change(
        self,
        method: str,
        *segments: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        timeout: float | None = None,
        retry: bool = True,
    ) -> bytes:
        """Sends a request that changes something and returns the body of the response. Raises
        OutcomeUnknown if it was sent and no response came within `timeout` seconds. Without
        `retry`, it is sent once.
        """
        client = self._client if retry else self._single
        request = Request(
            *(method, ("repositories", *segments), query or {}),
            headers={} if body is None else {"Content-Type": "application/json"},
            content=None if body is None else json.dumps(body).encode(),
            timeout=timeout,
        )
        return client.read(request, client.exchange(request))
