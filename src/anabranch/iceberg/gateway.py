"""The gateway of the Iceberg REST catalog: from a request to the operation that it asks for.

Requests authenticate by a bearer token, which `oauth/tokens` gives for an access key, or by the
access key itself (Basic). Everything here is synchronous and runs on a thread of the pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.actors.confined_actor import ConfinedActor
from anabranch.access.sessions.authenticate import Authenticator
from anabranch.audit.log import RequestAudit
from anabranch.errors import AnabranchError, NotFound, Unauthenticated
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Headers, Response
from anabranch.iceberg.call import Call
from anabranch.iceberg.error_responses import JSON, error_response
from anabranch.iceberg.idempotency import HEADER, Repetition
from anabranch.iceberg.operation import Operation
from anabranch.iceberg.operations.sign_in import sign_in
from anabranch.iceberg.routes import SIGN_IN, UNKNOWN, find_operation
from anabranch.iceberg.scopes import BASE_PATH, Target, parse_path
from anabranch.iceberg.services import Services
from anabranch.model.caller import acting_as

__all__ = ["IcebergGateway", "IcebergRequest"]

_MAX_BODY_BYTES = 16 << 20
_MAX_SIGN_IN_BYTES = 64 << 10
"""The longest request for a token, which is read before authentication."""
_TOKENS = ("oauth", "tokens")


class IcebergGateway:
    """Serves the paths below BASE_PATH."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def request(self, head: RequestHead, request_id: str) -> IcebergRequest | None:
        """Returns the request; None for a path of another gateway."""
        is_below = head.raw_path.startswith(f"{BASE_PATH}/")
        return IcebergRequest(self.services, head, request_id) if is_below else None


class IcebergRequest:
    """One request; see `GatewayRequest`."""

    __slots__ = (
        *("_audit", "_error", "_head", "_id", "_match", "_services", "body", "operation", "user"),
    )

    service: Literal["api"] = "api"
    execution = Execution.POOLED
    admits_first = True
    is_enough = None

    def __init__(self, services: Services, head: RequestHead, request_id: str) -> None:
        self._services = services
        self._head = head
        self._id = request_id
        self.body = BodyKind.WHOLE if head.method == "POST" else BodyKind.NONE
        self.operation = UNKNOWN
        self.user = ""
        self._match: tuple[Target, Operation, dict[str, str]] | None = None
        self._error: AnabranchError | None = None
        try:
            self._choose()
        except AnabranchError as error:
            self._error = error
        self._audit: RequestAudit | None = None
        if services.audit is not None:
            self._audit = RequestAudit(
                services.audit,
                gateway="iceberg",
                operation=self.operation,
                resource=head.raw_path,
                source_ip=head.client,
                request_id=request_id,
            )

    @property
    def max_body_bytes(self) -> int:
        """The most bytes of a body."""
        return _MAX_SIGN_IN_BYTES if self._is_sign_in else _MAX_BODY_BYTES

    def respond_early(self) -> Response | None:
        """Returns None."""
        return None

    def admit(self) -> Response | None:
        """Returns the response to a caller without valid credentials."""
        if self._is_sign_in:
            return None
        try:
            self._authenticate()
        except AnabranchError as error:
            return self.respond_to_error(error)
        return None

    def respond(self, content: Iterable[bytes] = ()) -> Response:
        """Returns the response; never raises."""
        try:
            response = self._respond(b"".join(content))
        except Exception as error:  # noqa: BLE001  the client gets a response for every error
            response = self.respond_to_error(error)
        audit = self._audit
        if audit is not None and audit.user and self._head.method not in {"GET", "HEAD"}:
            audit.changed(response.status)
        return response

    def respond_to_error(self, error: BaseException) -> Response:
        """Returns the response that reports an error."""
        return error_response(error, bodiless=self._head.method == "HEAD")

    def headers(self, response: Response) -> Headers:
        """Returns all headers of a response."""
        first = [("x-request-id", self._id), ("cache-control", "no-store")]
        return response.all_headers(first, response.content_type or JSON)

    @property
    def _is_sign_in(self) -> bool:
        return self._match is None and self.operation == SIGN_IN

    def _choose(self) -> None:
        target = parse_path(self._head.raw_path)
        if target is None:
            raise _no_such_path()
        if target.parts == _TOKENS and self._head.method == "POST":
            self.operation = SIGN_IN
            return
        found = find_operation(self._head.method, target.parts)
        if found is None:
            raise _no_such_path()
        operation, names = found
        self.operation = operation.id
        self._match = target, operation, names

    def _respond(self, content: bytes) -> Response:
        if self._is_sign_in:
            return sign_in(self._services, self._head, content, self._audit)
        actor = self._authenticate()
        if self._error is not None or self._match is None:
            raise self._error or _no_such_path()
        target, operation, names = self._match
        call = Call(self._services, self._head, target.scope, names, content, actor)
        authorize(actor, operation.needs(call))
        if operation.answer is not None and call.header(HEADER):
            call.repetition = Repetition(
                self._services.catalog.core.idempotency_keys,
                actor.username,
                call.header(HEADER).strip().strip('"'),
                f"{operation.id} {self._head.raw_path}",
                content,
            )
        with acting_as(actor.as_caller(operation.id, self._id)):
            return _perform(operation, call)

    def _authenticate(self) -> Actor:
        """Returns the caller. Raises Unauthenticated, Throttled, and Denied for the keys of a
        workspace, whose tables have files that are on no branch.
        """
        head, audit = self._head, self._audit
        authenticator: Authenticator = self._services.access.authenticator
        try:
            actor = authenticator.authenticate(
                head.headers.get("authorization"), address=head.client
            )
            if actor is None:
                raise Unauthenticated("error authenticating request")
        except AnabranchError as error:
            if audit is not None:
                audit.refused(error.kind)
            raise
        self.user = actor.username
        if audit is not None:
            audit.authenticated(actor)
            actor = actor.in_context(head.client, self._services.clock(), audit.decided)
        elif actor.is_conditional:
            actor = actor.in_context(head.client, self._services.clock())
        if isinstance(actor, ConfinedActor):
            raise actor.refusal(self.operation)
        return actor


def _perform(operation: Operation, call: Call) -> Response:
    """Returns the response of an operation; of one with a key, to the first request with it."""
    repetition, answer = call.repetition, operation.answer
    if repetition is None or answer is None:
        return operation.handler(call)
    recorded = repetition.recorded()
    if recorded is not None:
        return answer(call, recorded)
    try:
        return operation.handler(call)
    except AnabranchError:
        # an equal request may have been faster, or the outcome of this one is known by now
        recorded = repetition.recorded()
        if recorded is None:
            raise
        return answer(call, recorded)


def _no_such_path() -> NotFound:
    return NotFound("the catalog has no such path", kind="invalid_endpoint")
