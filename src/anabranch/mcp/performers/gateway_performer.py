"""Requests of tools that the REST gateway of this process performs, as a caller of the server."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote, urlencode

from anabranch.access.access import Access
from anabranch.access.actors.actor import Actor
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.client.rest_client import quote_segment
from anabranch.errors import AnabranchError, Corrupt, NotFound, Unauthenticated
from anabranch.http.abandonment import reset_abandonment, set_abandonment
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.mcp.api import ApiRequest, ApiResponse
from anabranch.mcp.cancellation import Cancellation
from anabranch.mcp.limits import MAX_RESPONSE_BYTES
from anabranch.mcp.performers.first_bytes import first_bytes
from anabranch.mcp.performers.workspace_access import WorkspaceAccess
from anabranch.model.references.expression import branch_of
from anabranch.rest.gateway import RestGateway
from anabranch.rest.table import BASE_PATH

__all__ = ["GatewayCaller", "GatewayPerformer"]

_SUCCESS = range(200, 300)
_log = logging.getLogger(__name__)


class GatewayCaller(NamedTuple):
    """Who calls: by the header Authorization of a request from the address `client`, or, in a
    process that serves one user alone, the `actor`. `request_id` names the caller's request in
    logs.
    """

    authorization: str = ""
    scheme: str = "http"
    host: str = ""
    client: str = ""
    request_id: str = ""
    actor: Actor | None = None


class GatewayPerformer:
    """Performs requests as if the caller had sent them to the server. If the caller `writes`,
    what it reads in its workspaces is recorded there.
    """

    def __init__(
        self,
        gateway: RestGateway,
        caller: GatewayCaller,
        access: Access,
        workspaces: WorkspaceAccess,
        *,
        writes: bool,
    ) -> None:
        self._gateway = gateway
        self._caller = caller
        self._access = access
        self._workspaces = workspaces
        self._writes = writes

    def perform(
        self, request: ApiRequest, max_bytes: int, cancellation: Cancellation
    ) -> ApiResponse:
        """Returns the response; see `Performer`."""
        token = set_abandonment(cancellation.is_cancelled)
        try:
            response = self._respond(request)
            _require_success(request, response)
            body, whole = _beginning(response, max_bytes)
        finally:
            reset_abandonment(token)
        headers = {name.lower(): value for name, value in response.headers}
        headers["content-type"] = response.content_type
        return ApiResponse(response.status, headers, body, whole)

    def in_workspace(self, repository: str, workspace: str) -> GatewayPerformer:
        """Returns the performer of a workspace that the caller has created; see `Performer`. A
        caller with the keys of that workspace stays as it is.
        """
        place = ("repositories", repository, "workspaces", workspace)
        # whether it may be seen is asked first, as for everything else
        self.perform(ApiRequest("GET", place), MAX_RESPONSE_BYTES, Cancellation())
        actor = self._actor()
        if isinstance(actor, ConfinedActor):
            return self
        return self._as(self._workspaces.confine(actor, repository, workspace))

    def reading_at(self, repository: str, reference: str) -> GatewayPerformer:
        """Returns the performer of a workspace that the caller has created, otherwise itself; see
        `Performer`.
        """
        actor = self._actor() if self._writes else None
        if actor is None or isinstance(actor, ConfinedActor):
            return self
        try:
            confined = self._workspaces.confine(actor, repository, branch_of(reference))
        except AnabranchError:
            return self  # whether there is such a reference, the read itself says
        return self._as(confined)

    def _as(self, actor: Actor) -> GatewayPerformer:
        caller = self._caller._replace(actor=actor, authorization="")
        return GatewayPerformer(
            *(self._gateway, caller, self._access, self._workspaces), writes=self._writes
        )

    def keep_keys(self, repository: str, workspace: str, token: str) -> None:
        """Does nothing: the record of a workspace suffices; see `Performer`."""

    def _actor(self) -> Actor:
        caller = self._caller
        authenticator = self._access.authenticator
        actor = caller.actor or authenticator.authenticate(
            caller.authorization or None, address=caller.client
        )
        if actor is None:
            raise Unauthenticated("error authenticating request")
        return actor

    def _respond(self, request: ApiRequest) -> Response:
        caller = self._caller
        headers = {"host": caller.host, **request.headers}
        if caller.authorization:
            headers["authorization"] = caller.authorization
        path = "/".join([BASE_PATH, *(quote_segment(each) for each in request.segments)])
        params = {name: value for name, value in request.params.items() if value is not None}
        query = urlencode(params, doseq=True, quote_via=quote)
        head = RequestHead.sent(
            request.method, path, query, headers, scheme=caller.scheme, client=caller.client
        )
        called = self._gateway.request(head, caller.request_id, caller.actor)
        if called is None:
            raise NotFound("invalid API endpoint", kind="invalid_endpoint")
        return called.respond((request.body or b"",))


def _require_success(request: ApiRequest, response: Response) -> None:
    if response.status in _SUCCESS:
        return
    if isinstance(response.error, AnabranchError):
        raise response.error
    _log.error("%s %s failed", request.method, request.segments, exc_info=response.error)
    raise Corrupt("internal error")


def _beginning(response: Response, max_bytes: int) -> tuple[bytes, bool]:
    """Returns the first bytes of a body, and whether they are all of it."""
    pieces = [response.body] if response.pieces is None else response.pieces
    try:
        return first_bytes(pieces, max_bytes)
    finally:
        close: Callable[[], None] | None = getattr(pieces, "close", None)
        if close is not None:
            close()
