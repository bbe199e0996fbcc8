"""Requests of tools that a server elsewhere performs: each call has a client of its own, so that a
cancellation closes that call's connection alone. The server then ends the operation.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from anabranch.client.rest_client import Request, RestClient
from anabranch.client.transport import Response, TransportError
from anabranch.mcp.api import ApiRequest, ApiResponse
from anabranch.mcp.cancellation import Cancellation
from anabranch.model.secret import Secret

__all__ = ["RemotePerformer"]

_CHUNK = 64 << 10


class RemotePerformer:
    """Performs requests by HTTP with the caller's credentials. Raises ValueError for a URL that
    cannot be parsed.
    """

    def __init__(self, url: str, authorization: Secret, environment: Mapping[str, str]) -> None:
        self._url = url
        self._authorization = authorization
        self._environment = environment
        self._lock = threading.Lock()
        self._idle = [self._client()]

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()

    def perform(
        self, request: ApiRequest, max_bytes: int, cancellation: Cancellation
    ) -> ApiResponse:
        """Returns the response; see `Performer`."""
        with self._lock:
            client = self._idle.pop() if self._idle else self._client()
        try:
            with cancellation.aborting(client):
                return _perform(client, request, max_bytes)
        finally:
            if cancellation.is_cancelled():
                client.close()
            else:
                with self._lock:
                    self._idle.append(client)

    def _client(self) -> RestClient:
        return RestClient(self._url, self._authorization, environment=self._environment)


def _perform(client: RestClient, request: ApiRequest, max_bytes: int) -> ApiResponse:
    headers = dict(request.headers)
    if request.authorization:
        headers["Authorization"] = request.authorization
    sent = Request(
        *(request.method, request.segments, request.params, headers, request.body),
        repeatable=request.method == "GET",
    )
    response = client.exchange(sent)
    try:
        body, whole = _beginning(response, max_bytes)
    except TransportError as error:
        raise client.transport_error(sent, error) from error
    finally:
        response.close()
    named = {name: response.header(name) for name in ("content-type", "content-range", "etag")}
    return ApiResponse(response.status, named, body, whole)


def _beginning(response: Response, max_bytes: int) -> tuple[bytes, bool]:
    body = bytearray()
    for chunk in response.chunks(_CHUNK):
        body += chunk
        if len(body) > max_bytes:
            return bytes(body[:max_bytes]), False
    return bytes(body), True
