"""The gateway of the REST API: selects the operation of a request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Literal, cast

from falcon.routing import CompiledRouter

from anabranch.access.actors.actor import Actor
from anabranch.errors import AnabranchError
from anabranch.http.execution import BodyKind
from anabranch.http.fixed_request import FixedRequest
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Headers, Response
from anabranch.rest.operations.logins import command_line_login, logout, single_sign_on
from anabranch.rest.operations.objects.presigned_blocks import SIGNED_OPERATIONS
from anabranch.rest.protocol.call import Request
from anabranch.rest.protocol.errors import error_response
from anabranch.rest.protocol.operation_handler import OperationHandler, not_found
from anabranch.rest.protocol.responses import JSON
from anabranch.rest.protocol.services import Services
from anabranch.rest.table import BASE_PATH, EXTENSIONS, OPERATIONS

__all__ = ["ALL_OPERATIONS", "RestGateway", "RestRequest"]

_OUTSIDE_BASE_PATH = (
    *SIGNED_OPERATIONS,
    *single_sign_on.PAGES,
    *command_line_login.PAGES,
    *logout.PAGES,
)

ALL_OPERATIONS = (*OPERATIONS, *EXTENSIONS, *_OUTSIDE_BASE_PATH)
"""All operations of the gateway."""

_MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
_PARAMETER = re.compile(r"\{(\w+)\}(:\w+)?")
_NO_SNIFFING = ("x-content-type-options", "nosniff")


class RestGateway:
    """Selects the operations of requests of the API, and of presigned URLs of its block store."""

    def __init__(self, services: Services) -> None:
        self._router = CompiledRouter()
        by_path: dict[str, dict[str, OperationHandler]] = {}
        for operation in ALL_OPERATIONS:
            base = "" if operation in _OUTSIDE_BASE_PATH else BASE_PATH
            path, names = _by_position(base + operation.path)
            handler = OperationHandler(operation, services, names)
            by_path.setdefault(path, {})[operation.method] = handler
        for path, handlers in by_path.items():
            self._router.add_route(path, handlers)

    def request(self, head: RequestHead, request_id: str) -> RestRequest | FixedRequest | None:
        """Returns the request of an operation; a request whose response is 404 if the path does not
        have the method; None for a path that is not of the API.
        """
        route = self._router.find(head.path)
        if route is None:
            return None
        handler = cast("dict[str, OperationHandler]", route[0]).get(head.method)
        if handler is None:
            return self.missing(request_id)
        return RestRequest(handler, head, route[2], request_id)

    def perform(
        self, actor: Actor, method: str, path: str, query: str, body: bytes, *, hook_run: str
    ) -> Response:
        """Performs an operation of the API in this process, as a user, for a run of hooks. `path`
        follows the API's base path; the response is 404 for one that the API does not have.
        """
        route = self._router.find(BASE_PATH + path)
        if route is None:
            return error_response(not_found())
        handler = cast("dict[str, OperationHandler]", route[0]).get(method)
        if handler is None:
            return error_response(not_found())
        headers = {"content-type": JSON} if body else {}
        request = Request(route[2], query, headers, body=body, content=[body])
        request.actor = actor
        request.hook_run = hook_run
        return handler(request)

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


def _by_position(template: str) -> tuple[str, dict[str, str]]:
    """Returns the template with parameters that are named by their position, and the names of the
    API by those. The router requires equal names in all operations on a path; the API does not.
    """
    parts = template.split("/")
    names: dict[str, str] = {}
    for position, part in enumerate(parts):
        match = _PARAMETER.fullmatch(part)
        if match is not None:
            names[f"s{position}"] = match[1]
            parts[position] = f"{{s{position}}}{match[2] or ''}"
    return "/".join(parts), names


def _not_found(request_id: str) -> Response:
    response = error_response(not_found())
    response.headers = [("x-request-id", request_id), _NO_SNIFFING, *response.headers]
    return response
