"""The gateway of the REST API: from the head of a request to its operation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Literal, cast

from falcon.routing import CompiledRouter

from anabranch.errors import AnabranchError
from anabranch.http.execution import BodyKind
from anabranch.http.fixed_request import FixedRequest
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Headers, Response
from anabranch.rest.operations import command_line_login, logout, single_sign_on
from anabranch.rest.operations.presigned_blocks import SIGNED_OPERATIONS
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
_NOT_GUESSED = ("x-content-type-options", "nosniff")


class RestGateway:
    """Selects the operations of requests of the API, and of presigned URLs of its block store."""

    def __init__(self, services: Services) -> None:
        self._router = CompiledRouter()
        by_path: dict[str, dict[str, OperationHandler]] = {}
        for operation in ALL_OPERATIONS:
            base = "" if operation in _OUTSIDE_BASE_PATH else BASE_PATH
            path, names = _by_place(base + operation.path)
            handler = OperationHandler(operation, services, names)
            by_path.setdefault(path, {})[operation.method] = handler
        for path, handlers in by_path.items():
            self._router.add_route(path, handlers)

    def request(self, head: RequestHead, request_id: str) -> RestRequest | FixedRequest | None:
        """Returns the request of an operation, or of a method that its path does not have; None for
        a path that the API does not have.
        """
        found = self._router.find(head.path)
        if found is None:
            return None
        handler = cast("dict[str, OperationHandler]", found[0]).get(head.method)
        if handler is None:
            return self.missing(request_id)
        return RestRequest(handler, head, found[2], request_id)

    def missing(self, request_id: str) -> FixedRequest:
        """Returns a request of what the API does not have."""
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
        """Returns the response that refuses the credentials, if they are wrong."""
        try:
            self._handler.authenticate(self._request)
        except AnabranchError as error:
            return error_response(error)
        return None

    def respond(self, content: Iterable[bytes]) -> Response:
        """Returns the response to the request with that body."""
        if self.body is BodyKind.STREAM:
            self._request.content = content
        elif self.body is BodyKind.WHOLE:
            self._request.body = b"".join(content)
        return self._handler(self._request)

    def respond_to_error(self, error: AnabranchError) -> Response:
        """Returns the response that reports an error."""
        return error_response(error)

    def headers(self, response: Response) -> Headers:
        """Returns all headers of a response."""
        first = [("x-request-id", self._request.id)]
        if response.content_type == JSON:
            first.append(_NOT_GUESSED)
        return response.all_headers(first, response.content_type)


def _by_place(template: str) -> tuple[str, dict[str, str]]:
    """Returns a template whose parameters are named for their place, since the router must name
    those of all operations on a path alike, and the names that they have in this one.
    """
    parts = template.split("/")
    names: dict[str, str] = {}
    for place, part in enumerate(parts):
        match = _PARAMETER.fullmatch(part)
        if match is not None:
            names[f"s{place}"] = match[1]
            parts[place] = f"{{s{place}}}{match[2] or ''}"
    return "/".join(parts), names


def _not_found(request_id: str) -> Response:
    response = error_response(not_found())
    response.headers = [("x-request-id", request_id), _NOT_GUESSED, *response.headers]
    return response
