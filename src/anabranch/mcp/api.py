"""The REST API as tools use it: requests, and the parsed results of their responses.

Who performs a request is a parameter: a server elsewhere, or the gateway in this process. Either
authenticates and authorizes each request by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from anabranch.errors import Invalid
from anabranch.mcp.cancellation import Cancellation
from anabranch.mcp.limits import MAX_RESPONSE_BYTES

__all__ = ["Api", "ApiRequest", "ApiResponse", "Performer"]


class ApiRequest(NamedTuple):
    """A request: `segments` are its path below `/api/v1`, unquoted."""

    method: str
    segments: tuple[str, ...]
    params: Mapping[str, Any] = {}
    headers: Mapping[str, str] = {}
    body: bytes | None = None


class ApiResponse(NamedTuple):
    """The response to a successful request. `body` is not `whole` if it has more bytes than were
    asked for; headers have lowercase names.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool


class Performer(Protocol):
    """Performs requests as one caller."""

    def perform(
        self, request: ApiRequest, max_bytes: int, cancellation: Cancellation
    ) -> ApiResponse:
        """Returns the response, of whose body `max_bytes` are read. Raises the error that an
        unsuccessful one stands for.
        """

    def in_workspace(self, repository: str, workspace: str) -> Performer:
        """Returns what performs requests with the keys of one of the caller's workspaces, which
        reach nothing else. Raises NotFound if the caller has no such keys.
        """

    def reading_at(self, repository: str, reference: str) -> Performer:
        """Returns what performs reads at a reference: with the keys of a workspace, which record
        what is read, if the reference is that of one that the caller writes to.
        """

    def keep_keys(self, repository: str, workspace: str, token: str) -> None:
        """Receives the token of a workspace that the caller has created."""


class Api:
    """The REST API for one call of a tool."""

    def __init__(self, performer: Performer, cancellation: Cancellation) -> None:
        self.performer = performer
        self._cancellation = cancellation

    def in_workspace(self, repository: str, workspace: str) -> Api:
        """Returns the API as the keys of one of the caller's workspaces reach it."""
        return Api(self.performer.in_workspace(repository, workspace), self._cancellation)

    def reading_at(self, repository: str, reference: str) -> Api:
        """Returns the API for reads of objects at a reference, which a workspace records."""
        return Api(self.performer.reading_at(repository, reference), self._cancellation)

    def get(self, *segments: str, **params: Any) -> Any:
        """Returns the JSON of the response to a GET."""
        return self._json(ApiRequest("GET", segments, params))

    def send(self, method: str, *segments: str, body: Any = None, **params: Any) -> Any:
        """Returns the JSON of the response to a request with a JSON body, None without one."""
        if body is None:
            return self._json(ApiRequest(method, segments, params))
        headers = {"content-type": "application/json"}
        return self._json(ApiRequest(method, segments, params, headers, json.dumps(body).encode()))

    def upload(self, *segments: str, content: bytes, content_type: str, **params: Any) -> Any:
        """Returns the JSON of the response to a POST of bytes."""
        headers = {"content-type": content_type}
        return self._json(ApiRequest("POST", segments, params, headers, content))

    def read(self, *segments: str, start: int, length: int, **params: Any) -> ApiResponse:
        """Returns the response to a GET of `length` bytes of a body from the byte `start` on."""
        headers = {"range": f"bytes={start}-{start + length - 1}"}
        return self._perform(ApiRequest("GET", segments, params, headers), length)

    def _json(self, request: ApiRequest) -> Any:
        response = self._perform(request, MAX_RESPONSE_BYTES)
        if not response.whole:
            raise Invalid(
                f"the response has more than {MAX_RESPONSE_BYTES} bytes",
                kind="response_too_large",
                hint="Ask for fewer items or rows.",
            )
        if not response.body:
            return None
        if "json" not in response.headers.get("content-type", "json"):
            return response.body.decode("utf-8", "replace")
        return json.loads(response.body)

    def _perform(self, request: ApiRequest, max_bytes: int) -> ApiResponse:
        return self.performer.perform(request, max_bytes, self._cancellation)
