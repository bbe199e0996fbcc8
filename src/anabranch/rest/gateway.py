"""The gateway of the REST API: selects the operation of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Literal, cast

from anabranch.access.actors.actor import Actor
from anabranch.errors import AnabranchError
from anabranch.http.execution import BodyKind
from anabranch.http.fixed_request import FixedRequest
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Headers, Response
from anabranch.rest.protocol.call import Request
from anabranch.rest.protocol.errors import error_response
from anabranch.rest.protocol.operation_handler import OperationHandler, not_found
from anabranch.rest.protocol.responses import JSON
from anabranch.rest.protocol.route import Route
from anabranch.rest.protocol.services import Services
from anabranch.rest.routes import ROUTER, ROUTES
from anabranch.rest.table import BASE_PATH

__all__ = ["RestGateway", "RestRequest"]

_MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
_NO_SNIFFING = ("x-content-type-options", "nosniff")


class RestGateway:
    """Selects the operations of requests of the API, and of presigned URLs of its block store."""

    def __init__(self, services: Services) -> None:
        self._handlers = {route: OperationHandler(route, services) for route in ROUTES}

    def request(
        self, head: RequestHead, request_id: str, actor: Actor | None = None
    ) -> RestRequest | FixedRequest | None:
        """Returns the request of an operation; a request whose response is 404 if the path does not
        have the method; None for a path that is not of the API. An `actor` needs no credentials:
        for requests that this process makes by itself.
        """
        found = ROUTER.find(head.path)
        if found is None:
            return None
        route = cast("dict[str, Route]", found[0]).get(head.method)
        if route is None:
            return self.missing(request_id)
        request = RestRequest(self._handlers[route], head, found[2], request_id)
        if actor is not None:
            request.act_as(actor)
        return request

    def perform(
        self, actor: Actor, method: str, path: str, query: str, body: bytes, *, hook_run: str
    ) -> Response:
        """Performs an operation of the API in this process, as a user, for a run of hooks. `path`
        follows the API's base path; the response is 404 for one that the API does not have.
        """
        found = ROUTER.find(BASE_PATH + path)
        route = None if found is None else cast("dict[str, Route]", found[0]).get(method)
        if found is None or route is None:
            return error_response(not_found())
        headers = {"content-type": JSON} if body else {}
        request = Request(found[2], query, headers, body=body, content=[body])
        request.actor = actor
        request.hook_run = hook_run
        return self._handlers[route](request)

    def missing(self, request_id: str) -> FixedRequest:
        """Returns a request whose response is 404."""
        return FixedRequest(partial(_not_found, request_id))

    @staticmethod
    def has(path: str) -> bool:
        """Returns whether a path is below the API's base path."""
        return path == BASE_PATH or path.startswith(BASE_PATH + "/")


class RestRequest:
    """One request of an operation; see `GatewayRequest`."""

    __slots__ = ("_handler", "_request", "body", "execution", "operation")

    service: Literal["api"] = "api"
    max_body_bytes = _MAX_DOCUMENT_BYTES
    admits_first = False
    is_enough = None

    def __init__(
        self,
        handler: OperationHandler,
        head: RequestHead,
        segments: Mapping[str, str],
        request_id: str,
    ) -> None:
        self._handler = handler
        self.operation = handler.operation.id
        self.execution = handler.operation.execution
        self.body = handler.body_kind
        self._request = Request(
            segments,
            head.query,
            head.headers,
            id=request_id,
            secure=head.scheme == "https",
            client=head.client,
        )

    @property
    def user(self) -> str:
        """The name of the user, once the request is authenticated."""
        return self._request.user

    def act_as(self, actor: Actor) -> None:
        """Sets the user of a request without credentials."""
        self._request.actor = actor

    def respond_early(self) -> Response | None:
        """Returns the response to a request that needs credentials and has none."""
        return self._handler.refuse_unknown(self._request.headers, self._request.segments)

    def admit(self) -> Response | None:
        """Returns the error response for invalid credentials, None for valid ones."""
        try:
            self._handler.authenticate(self._request)
        except AnabranchError as error:
            return error_response(error)
        return None

    def respond(self, content: Iterable[bytes]) -> Response:
        """Returns the response to the request with this body."""
        if self.body is BodyKind.STREAM:
            self._request.content = content
        elif self.body is BodyKind.WHOLE:
            self._request.body = b"".join(content)
        return self._handler(self._request)

    def respond_to_error(self, error: AnabranchError) -> Response:
        """Returns the response for an error."""
        return error_response(error)

    def headers(self, response: Response) -> Headers:
        """Returns all headers of a response."""
        first = [("x-request-id", self._request.id)]
        named = {name.lower() for name, _ in response.headers}
        if response.content_type == JSON and _NO_SNIFFING[0] not in named:
            first.append(_NO_SNIFFING)
        return response.all_headers(first, response.content_type)


def _not_found(request_id: str) -> Response:
    response = error_response(not_found())
    response.headers = [("x-request-id", request_id), _NO_SNIFFING, *response.headers]
    return response
