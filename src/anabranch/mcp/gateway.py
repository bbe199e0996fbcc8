"""The gateway of the protocol over HTTP, at `/mcp`: who may send messages.

What responds to them is imported with the first message, because it takes as long to import as the
rest of a server, and most servers get none.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from anabranch.access.access import Access
from anabranch.audit.log import AuditLog, RequestAudit
from anabranch.errors import AnabranchError, Denied, NotSupported, Throttled, Unauthenticated
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Headers, Response
from anabranch.http.same_origin import comes_from_other_site
from anabranch.mcp.limits import MAX_BODY_BYTES, CallLimits
from anabranch.mcp.performers.workspace_access import WorkspaceAccess
from anabranch.rest.gateway import RestGateway
from anabranch.rest.protocol.errors import status_for
from anabranch.rest.protocol.responses import JSON
from anabranch.rest.protocol.session import named_access_key

if TYPE_CHECKING:
    from anabranch.mcp.http_responses import Responder

__all__ = ["MCP_OPERATION", "PATH", "McpGateway", "McpRequest"]

MCP_OPERATION = "mcp"
"""What messages are called in metrics and logs, beside the operations of the API."""

PATH = "/mcp"
_INVALID_REQUEST = -32600


class McpGateway:
    """Takes messages of clients who authenticate as for the REST API."""

    def __init__(
        self,
        rest: RestGateway,
        access: Access,
        workspaces: WorkspaceAccess,
        version: str,
        limits: CallLimits,
        *,
        write: bool,
        audit: AuditLog | None = None,
    ) -> None:
        self._rest = rest
        self._access = access
        self._workspaces = workspaces
        self._version = version
        self._limits = limits
        self._write = write
        self._audit = audit
        self._lock = threading.Lock()
        self._responder: Responder | None = None

    def request(self, head: RequestHead, request_id: str) -> McpRequest | None:
        """Returns the request of a message; None for another path, and for requests of browsers to
        a repository of this name: forms with a file, and questions of CORS.
        """
        is_ours = head.path.rstrip("/") == PATH and head.method != "OPTIONS"
        if not is_ours or head.headers.get("content-type", "").startswith("multipart/"):
            return None
        return McpRequest(self, head, request_id)

    def admit(self, head: RequestHead, request_id: str) -> None:
        """Raises the errors of `authenticate`, which are then in the audit log."""
        try:
            self._authenticate(head)
        except AnabranchError as error:
            if self._audit is not None:
                audit = RequestAudit(
                    self._audit,
                    gateway="mcp",
                    operation=MCP_OPERATION,
                    source_ip=head.client,
                    request_id=request_id,
                )
                audit.refused(error.kind, named_access_key(head.headers.get("authorization", "")))
            raise

    def _authenticate(self, head: RequestHead) -> None:
        """Raises Unauthenticated without valid credentials in the header Authorization, Throttled
        after many wrong ones, and Denied for a request of a page of another site. Cookies count
        for nothing, so that no page can act for its visitor.
        """
        if comes_from_other_site(head.headers):
            raise Denied(
                "a page of another site has sent the request",
                kind="cross_site",
                hint="Connect from a program, or from a page of this server.",
            )
        authorization = head.headers.get("authorization")
        authenticator = self._access.authenticator
        if authenticator.authenticate(authorization, address=head.client) is None:
            raise Unauthenticated("error authenticating request")

    def responder(self) -> Responder:
        """Returns what responds to messages. Raises NotSupported without the extra."""
        with self._lock:
            if self._responder is None:
                self._responder = self._make_responder()
            return self._responder

    def _make_responder(self) -> Responder:
        try:
            from anabranch.mcp.http_responses import Responder  # noqa: PLC0415  an extra, and slow
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("mcp"):
                raise
            raise NotSupported(
                "the server has no Model Context Protocol",
                kind="extra_missing",
                hint="pip install 'anabranch[mcp]', where the server runs.",
            ) from None
        return Responder(
            *(self._rest, self._access, self._workspaces, self._version, self._limits),
            write=self._write,
        )


class McpRequest:
    """One request; see `GatewayRequest`."""

    __slots__ = ("_gateway", "_head", "_id", "body")

    service: Literal["api"] = "api"
    operation = MCP_OPERATION
    execution = Execution.POOLED
    max_body_bytes = MAX_BODY_BYTES
    user = ""
    admits_first = False
    is_enough = None

    def __init__(self, gateway: McpGateway, head: RequestHead, request_id: str) -> None:
        self._gateway = gateway
        self._head = head
        self._id = request_id
        self.body = BodyKind.WHOLE if head.method == "POST" else BodyKind.NONE

    def respond_early(self) -> Response | None:
        """Returns the response to a request without credentials, or of a method without use."""
        if self._head.method != "POST":
            # clients ask by GET for a stream of messages, and by DELETE for the end of a session
            return Response(405, headers=[("Allow", "POST")])
        if "authorization" in self._head.headers:
            return None
        return self.admit()

    def admit(self) -> Response | None:
        """Returns the response that refuses the caller."""
        try:
            self._gateway.admit(self._head, self._id)
        except AnabranchError as error:
            return _error_response(error)
        return None

    def respond(self, content: Iterable[bytes]) -> Response:
        """Returns the response to the message in the body."""
        refused = self.admit()
        if refused is not None:
            return refused
        try:
            responder = self._gateway.responder()
        except AnabranchError as error:
            return _error_response(error)
        return responder.respond(self._head, self._id, b"".join(content))

    def respond_to_error(self, error: AnabranchError) -> Response:
        """Returns the response that reports an error."""
        return _error_response(error)

    def headers(self, response: Response) -> Headers:
        """Returns all headers of a response."""
        first = [("x-request-id", self._id), ("cache-control", "no-store")]
        return response.all_headers(first, response.content_type)


def _error_response(error: AnabranchError) -> Response:
    """Returns the response of a request whose message was not looked at."""
    data = {"kind": error.kind, "hint": error.hint or ""}
    detail = {"code": _INVALID_REQUEST, "message": error.message, "data": data}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": detail})
    headers = []
    if isinstance(error, Throttled):
        headers.append(("Retry-After", str(error.retry_after)))
    if isinstance(error, Unauthenticated):
        headers.append(("WWW-Authenticate", 'Bearer realm="anabranch"'))
    return Response(status_for(error), body, content_type=JSON, headers=headers, error=error)
