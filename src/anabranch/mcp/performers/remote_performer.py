"""Requests of tools that a server elsewhere performs: each call has a client of its own, so that a
cancellation closes that call's connection alone. The server then ends the operation.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from anabranch.client.authorization import token_authorization
from anabranch.client.rest_client import Request, RestClient
from anabranch.client.transport import TransportError
from anabranch.errors import NotFound
from anabranch.mcp.api import ApiRequest, ApiResponse
from anabranch.mcp.cancellation import Cancellation
from anabranch.mcp.performers.first_bytes import first_bytes
from anabranch.model.references.expression import branch_of
from anabranch.model.secret import Secret

__all__ = ["RemotePerformer"]

_CHUNK = 64 << 10
_MAX_WORKSPACES = 1000


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
        self._workspaces: dict[tuple[str, str], RemotePerformer] = {}

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            workspaces = list(self._workspaces.values())
            while self._idle:
                self._idle.pop().close()
        for each in workspaces:
            each.close()

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

    def in_workspace(self, repository: str, workspace: str) -> RemotePerformer:
        """Returns the performer of a workspace that this one has created; see `Performer`."""
        with self._lock:
            found = self._workspaces.get((repository, workspace))
        if found is None:
            raise NotFound(
                f"{workspace} is no workspace that was created by this program",
                kind="workspace_not_found",
                hint="Create one by create_workspace: its keys are kept only as long as this runs.",
            )
        return found

    def reading_at(self, repository: str, reference: str) -> RemotePerformer:
        """Returns the performer of a workspace that this one has created, otherwise itself; see
        `Performer`.
        """
        with self._lock:
            return self._workspaces.get((repository, branch_of(reference)), self)

    def keep_keys(self, repository: str, workspace: str, token: str) -> None:
        """Keeps a token, in memory alone; see `Performer`."""
        performer = RemotePerformer(self._url, token_authorization(token), self._environment)
        with self._lock:
            while len(self._workspaces) >= _MAX_WORKSPACES:
                self._workspaces.pop(next(iter(self._workspaces))).close()
            self._workspaces[repository, workspace] = performer

    def _client(self) -> RestClient:
        return RestClient(self._url, self._authorization, environment=self._environment)


def _perform(client: RestClient, request: ApiRequest, max_bytes: int) -> ApiResponse:
    sent = Request(
        *(request.method, request.segments, request.params, request.headers, request.body),
        repeatable=request.method == "GET",
    )
    response = client.exchange(sent)
    try:
        body, whole = first_bytes(response.chunks(_CHUNK), max_bytes)
    except TransportError as error:
        raise client.transport_error(sent, error) from error
    finally:
        response.close()
    named = {name: response.header(name) for name in ("content-type", "content-range", "etag")}
    return ApiResponse(response.status, named, body, whole)
