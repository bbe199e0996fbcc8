"""The gateway of SCIM: `/scim/v2/KIND` and `/scim/v2/KIND/ID`.

Requests authenticate by one bearer token, which may do what SCIM can do: administer users and
groups. Responses and errors are as in RFC 7644, sections 3.1 and 3.12.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, unquote

from scim2_models import (
    Context,
    ForbiddenException,
    InvalidValueException,
    ListResponse,
    NotFoundException,
    NotImplementedException,
    PatchOp,
    ResourceType,
    ResponseParameters,
    Schema,
    SearchRequest,
)

from anabranch.access.access import Access
from anabranch.audit.log import AuditLog, RequestAudit
from anabranch.errors import AnabranchError, Unauthenticated
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Headers, Response
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.secret import Secret
from anabranch.scim.discovery import describe, described_all, is_discovery
from anabranch.scim.error_responses import CONTENT_TYPE, error_response, method_not_allowed
from anabranch.scim.groups import ScimGroups
from anabranch.scim.resources import POLICY, Group, User, filtered_name, select
from anabranch.scim.users import ScimUsers

__all__ = ["BASE_PATH", "ScimGateway", "ScimRequest"]

BASE_PATH = "/scim/v2"
_MAX_BODY_BYTES = 4 * 1024 * 1024
_THROTTLED_KEY = "token of SCIM"
_PAGES: dict[str, Any] = {
    "Schemas": ListResponse[Schema],
    "ResourceTypes": ListResponse[ResourceType],
}


class _Kind(NamedTuple):
    """A type of resources: its model, messages with the model, what stores them, and
    the attribute with names, in lowercase.
    """

    model: Any
    search: Any
    page: Any
    patch: Any
    parameters: Any
    resources: Any
    unique: str


class ScimGateway:
    """Serves the paths below BASE_PATH to clients that have the token."""

    def __init__(
        self,
        token: Secret,
        store: KeyValueStore,
        access: Access,
        *,
        audit: AuditLog | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.throttle = access.authenticator.throttle
        self.audit = audit
        self._token = token
        users, groups = ScimUsers(store, access, clock), ScimGroups(store, access, clock)
        self.kinds = {
            "Users": _Kind(
                User,
                SearchRequest[User],
                ListResponse[User],
                PatchOp[User],
                ResponseParameters[User],
                users,
                "username",
            ),
            "Groups": _Kind(
                Group,
                SearchRequest[Group],
                ListResponse[Group],
                PatchOp[Group],
                ResponseParameters[Group],
                groups,
                "displayname",
            ),
        }

    def request(self, head: RequestHead, request_id: str) -> ScimRequest | None:
        """Returns the request; None for a path that is not SCIM's."""
        is_below = head.path == BASE_PATH or head.path.startswith(BASE_PATH + "/")
        return ScimRequest(self, head, request_id) if is_below else None

    def authenticate(self, authorization: str, address: str) -> None:
        """Raises Unauthenticated for a wrong token, and Throttled after many of them."""
        self.throttle.check(_THROTTLED_KEY, address)
        scheme, _, token = authorization.partition(" ")
        given = token.strip().encode("utf-8", "surrogatepass")
        if scheme.lower() != "bearer" or not given:
            raise Unauthenticated("a bearer token is needed")
        if not hmac.compare_digest(given, self._token.reveal().encode()):
            self.throttle.failed(_THROTTLED_KEY, address)
            raise Unauthenticated("the bearer token is wrong")
        self.throttle.succeeded(_THROTTLED_KEY, address)


class ScimRequest:
    """One request; see `GatewayRequest`."""

    __slots__ = ("_audit", "_base", "_gateway", "_head", "_id", "body", "operation")

    service: Literal[""] = ""
    execution = Execution.POOLED
    max_body_bytes = _MAX_BODY_BYTES
    user = ""
    admits_first = False
    is_enough = None

    def __init__(self, gateway: ScimGateway, head: RequestHead, request_id: str) -> None:
        self._gateway = gateway
        self._head = head
        self._id = request_id
        self.operation = f"scim {head.method}"
        has_body = head.method in {"POST", "PUT", "PATCH"}
        self.body = BodyKind.WHOLE if has_body else BodyKind.NONE
        self._base = f"{head.scheme}://{head.headers.get('host', '')}{BASE_PATH}"
        self._audit: RequestAudit | None = None
        if gateway.audit is not None:
            self._audit = RequestAudit(
                gateway.audit,
                gateway="scim",
                operation=self.operation,
                resource=head.raw_path,
                source_ip=head.client,
                request_id=request_id,
            )

    def respond_early(self) -> Response | None:
        """Returns the response to a request without the token."""
        return self.admit()

    def admit(self) -> Response | None:
        """Returns the response to a request without the token."""
        try:
            self._gateway.authenticate(
                self._head.headers.get("authorization", ""), self._head.client
            )
        except AnabranchError as error:
            if self._audit is not None:
                self._audit.refused(error.kind)
            return error_response(error)
        return None

    def respond(self, content: Iterable[bytes]) -> Response:
        """Returns the response to the request with that body."""
        response = self._respond(b"".join(content))
        if self._audit is not None and self._head.method != "GET":
            self._audit.user = "scim"
            self._audit.changed(response.status)
        return response

    def respond_to_error(self, error: AnabranchError) -> Response:
        """Returns the response that reports an error."""
        return error_response(error)

    def headers(self, response: Response) -> Headers:
        """Returns all headers of a response."""
        first = [("x-request-id", self._id), ("cache-control", "no-store")]
        return response.all_headers(first, response.content_type)

    def _respond(self, body: bytes) -> Response:
        try:
            with POLICY:
                return self._perform(body)
        except Exception as error:  # noqa: BLE001  the client gets a response for every error
            return error_response(error)

    def _perform(self, body: bytes) -> Response:
        path = self._head.raw_path.rstrip("/").removeprefix(BASE_PATH).lstrip("/")
        kind, _, name = path.partition("/")
        name = unquote(name)
        pairs = parse_qsl(self._head.query)
        query = dict(pairs)
        if len(query) < len(pairs):
            raise InvalidValueException(detail="a query parameter is given more than once")
        method = self._head.method
        if is_discovery(kind):
            return self._describe(kind, name, query) if method == "GET" else method_not_allowed()
        if ".search" in {kind, name}:
            raise NotImplementedException(detail="use GET with a filter")
        known = self._gateway.kinds.get(kind)
        if known is None:
            raise NotFoundException(detail="there is no such resource type")
        if name:
            return self._perform_on(known, name, query, body)
        if method == "GET":
            request = known.search.model_validate(query)
            only = filtered_name(query.get("filter", ""), known.unique)
            selected = select(known.resources.all(self._base, only), request)
            page = known.page(
                total_results=selected.total,
                start_index=(request.start_index_0 or 0) + 1,
                items_per_page=len(selected),
                resources=list(selected),
            )
            return _response(200, page, Context.RESOURCE_QUERY_RESPONSE, request)
        if method != "POST":
            return method_not_allowed()
        resource = known.model.model_validate_json(body, scim_ctx=Context.RESOURCE_CREATION_REQUEST)
        parameters = known.parameters.model_validate(query)
        created = known.resources.create(resource, self._base)
        response = _response(201, created, Context.RESOURCE_CREATION_RESPONSE, parameters)
        response.headers = [("Location", created.meta.location)]
        return response

    def _perform_on(self, kind: _Kind, name: str, query: dict[str, str], body: bytes) -> Response:
        resources = kind.resources
        parameters = kind.parameters.model_validate(query)
        method = self._head.method
        if method == "GET":
            resource = resources.get(name, self._base)
            return _response(200, resource, Context.RESOURCE_QUERY_RESPONSE, parameters)
        if method == "DELETE":
            resources.delete(name)
            return Response(204)
        if method == "PUT":
            replacing = kind.model.model_validate_json(
                body, scim_ctx=Context.RESOURCE_REPLACEMENT_REQUEST
            )

            def replace(present: Any) -> Any:
                resource = replacing.model_copy(deep=True)
                resource.replace(present)
                if "active" in type(present).model_fields and resource.active is None:
                    resource.active = present.active  # leaving it out activates no user
                return resource

            changed = resources.change(name, replace, self._base)
            return _response(200, changed, Context.RESOURCE_REPLACEMENT_RESPONSE, parameters)
        if method == "PATCH":
            operations = kind.patch.model_validate_json(
                body, scim_ctx=Context.RESOURCE_PATCH_REQUEST
            )

            def patch(present: Any) -> Any:
                operations.patch(present)
                return present

            changed = resources.change(name, patch, self._base)
            return _response(200, changed, Context.RESOURCE_PATCH_RESPONSE, parameters)
        return method_not_allowed()

    def _describe(self, kind: str, name: str, query: dict[str, str]) -> Response:
        if "filter" in query:
            raise ForbiddenException(detail="these resources cannot be filtered")
        if name or kind == "ServiceProviderConfig":
            resource = describe(kind, name, self._base)
            return _response(200, resource, Context.RESOURCE_QUERY_RESPONSE, None)
        resources = described_all(kind, self._base)
        page = _PAGES[kind](
            total_results=len(resources),
            start_index=1,
            items_per_page=len(resources),
            resources=resources,
        )
        return _response(200, page, Context.RESOURCE_QUERY_RESPONSE, None)


def _response(status: int, resource: Any, context: Context, parameters: Any) -> Response:
    text = resource.model_dump_json(scim_ctx=context, response_parameters=parameters)
    return Response(status, text.encode(), content_type=CONTENT_TYPE)
