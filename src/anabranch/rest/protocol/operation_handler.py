"""An operation made ready to be called: one function from a request to an answer.

The order of steps: authentication, validation, authorization, then the work. lakeFS validates
first, and so tells unknown clients what is wrong with their requests.
Everything here is synchronous and may run on any thread.
"""

from __future__ import annotations

import http
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from anabranch.access.actors.actor import Actor
from anabranch.access.actors.authorize import authorize
from anabranch.access.policies.permissions import Action, Permission
from anabranch.audit.log import RequestAudit
from anabranch.errors import AnabranchError, MergeConflict, NotFound, OutcomeUnknown
from anabranch.http.response import Response
from anabranch.model.caller import Caller, acting_as, current_caller
from anabranch.model.uri import IMAGES
from anabranch.rest.protocol.call import Call, Request
from anabranch.rest.protocol.confined_operations import admit, note_reads
from anabranch.rest.protocol.errors import Error, error_response
from anabranch.rest.protocol.idempotency import (
    HEADER,
    UNKEYED_HINT,
    RepeatedRequest,
    fingerprint,
    parse_key,
    run_once,
)
from anabranch.rest.protocol.operation import Access, Need
from anabranch.rest.protocol.responses import json_response
from anabranch.rest.protocol.route import Route
from anabranch.rest.protocol.services import Services
from anabranch.rest.protocol.session import authenticate, named_access_key
from anabranch.rest.protocol.unreadable_conflicts import hide_unreadable

__all__ = ["RUN_HEADER", "OperationHandler", "not_found", "required_permissions"]

RUN_HEADER = "x-anabranch-run-id"
"""The header by which the receiver of a webhook says which run its requests are made for."""

_OBJECT_CHANGES = (Action.WRITE_OBJECT, Action.DELETE_OBJECT)
_NOT_ASKED = (Access.NO_AUTH, Access.SIGNED_URL)


class OperationHandler:
    """The operation of a route with the services it works on."""

    def __init__(self, route: Route, services: Services) -> None:
        operation = self.operation = route.operation
        self.body_kind = operation.body_kind
        self._services = services
        self._handler = operation.handler
        self._params, self._body = route.params, route.body
        self._status = operation.status
        self._access = operation.permission if isinstance(operation.permission, Access) else None
        self._needs_actor = self._access is None or self._access is Access.ANY_USER
        self._is_change = operation.method not in {"GET", "HEAD"}
        self._needs = operation.permission if isinstance(operation.permission, tuple) else ()

    def __call__(self, request: Request) -> Response:
        """Returns the response; never raises."""
        if self._services.audit is None:
            return self._respond(request)
        self._audit(request)
        response = self._respond(request)
        if request.audit is not None and request.audit.user and self._is_change:
            request.audit.changed(response.status)
        return response

    def _audit(self, request: Request) -> None:
        """Lets the request be recorded, if there is an audit log."""
        if self._services.audit is not None and request.audit is None:
            request.audit = RequestAudit(
                self._services.audit,
                gateway="rest",
                operation=self.operation.id,
                source_ip=request.client,
                request_id=request.id,
                hook_run=request.hook_run,
            )

    def _respond(self, request: Request) -> Response:
        try:
            return self._perform(request)
        except AnabranchError as error:
            return error_response(error)
        except Exception as error:  # noqa: BLE001  the client gets a response for every error
            status = http.HTTPStatus.INTERNAL_SERVER_ERROR
            return json_response(status, Error("internal error"), error=error)

    def refuse_unknown(
        self, headers: Mapping[str, str], segments: Mapping[str, str]
    ) -> Response | None:
        """Returns the answer to a request that needs credentials and has none, by its headers
        alone: before anything of its body is received. None for all others.
        """
        if "authorization" in headers or "cookie" in headers or not self._needs_actor:
            return None
        if "" in segments.values():
            return None  # there is no such path
        try:
            authorize(None, ())
        except AnabranchError as error:
            return error_response(error)
        return None

    def authenticate(self, request: Request) -> Actor | None:
        """Returns the actor of a request; None where the operation needs none. Raises
        Unauthenticated for wrong credentials, and for missing ones where it needs some.
        """
        if self._access in _NOT_ASKED:
            return None
        self._audit(request)
        audit = request.audit
        try:
            actor = request.actor or authenticate(
                self._services.access.authenticator, request, self.operation.method
            )
            if self._needs_actor:
                authorize(actor, ())
        except AnabranchError as error:
            if audit is not None:
                audit.refused(error.kind, named_access_key(request.header("authorization")))
            raise
        if actor is None:
            return None
        request.user = actor.username
        if audit is not None:
            audit.authenticated(actor)
            return actor.in_context(request.client, self._services.clock(), audit.decided)
        if actor.is_conditional:
            return actor.in_context(request.client, self._services.clock())
        return actor

    def _perform(self, request: Request) -> Response:
        if "" in request.segments.values():
            return error_response(not_found())
        actor = self.authenticate(request)
        params = None if self._params is None else self._params.decode(request)
        body = None if self._body is None else self._body.decode(request)
        call = Call(self._services, request, params, body, actor)
        call.actor = actor = admit(self.operation.id, call, actor)
        if self._needs:
            authorize(actor, required_permissions(self._needs, call))
        try:
            if self._is_change and actor is not None:
                with acting_as(self._caller(request, actor)):
                    response = self._call(self._handler, call)
            else:
                response = self._call(self._handler, call)
        except MergeConflict as error:
            hide_unreadable(error, call)
            raise
        note_reads(self.operation.id, call)
        return response

    def _caller(self, request: Request, actor: Actor) -> Caller:
        """Returns the caller of a request: of a hook, if this process makes the request for one, or
        if the request names the run of one.
        """
        current = current_caller()
        if request.hook_run:
            return current
        chain = current.chain
        if not chain and RUN_HEADER in request.headers:
            run = self._services.catalog.engine.running.find(request.header(RUN_HEADER))
            chain = () if run is None else run.chain
        return actor.as_caller(self.operation.id, request.id, chain)

    def _call(self, handler: Callable[[Call[Any, Any]], object], call: Any) -> Response:
        if self.operation.keyed:
            return self._answer(self._perform_keyed(handler, call))
        return self._answer(handler(call))

    def _perform_keyed(self, handler: Callable[[Call[Any, Any]], object], call: Any) -> object:
        """Returns what the handler returns; if the request has an idempotency key, once."""
        header = call.request.header(HEADER)
        if not header:
            try:
                return handler(call)
            except OutcomeUnknown as error:
                error.hint = UNKEYED_HINT
                raise
        call.repetition = RepeatedRequest(
            self._services.catalog.core.idempotency_keys,
            call.actor.idempotency_owner,
            parse_key(header),
            fingerprint(self.operation.id, call.params, call.body),
            self._answer,
        )
        return run_once(call.repetition, lambda: handler(call))

    def _answer(self, result: object) -> Response:
        """Returns what a handler has returned as a response."""
        if isinstance(result, Response):
            return result
        if result is None:
            return Response(self._status)
        return json_response(self._status, result)


def not_found() -> NotFound:
    """Returns the error of a path, or of a method on a path, that the API does not have."""
    return NotFound("invalid API endpoint", kind="invalid_endpoint")


def required_permissions(needs: tuple[Need, ...], call: Call[Any, Any]) -> Iterator[Permission]:
    """Yields the permissions that a call needs. What reads an image may be permitted as that."""
    repository = getattr(call.params, "repository", "")
    reference = getattr(call.params, "ref", "") or getattr(call.params, "tag", "")
    permissions = (permission for need in needs for permission in _permissions(need, call))
    if repository == IMAGES:
        images = call.services.catalog.images
        for permission in permissions:
            yield images.permission_for_reading(permission, repository, reference)
    else:
        yield from permissions


def _permissions(need: Need, call: Call[Any, Any]) -> list[Permission]:
    if need.of is not None:
        return [need.of(call)]
    named = need.resource(call)
    names = [named] if isinstance(named, str) else named
    branch = _changed_branch(need, call) if names else None
    return [Permission(need.action, name, branch=branch) for name in names]


def _changed_branch(need: Need, call: Call[Any, Any]) -> str | None:
    """Returns the branch that an action changes, if policies compare it; None if the resource names
    it.
    """
    if call.actor is None or not call.actor.depends_on_branch:
        return None
    if need.branch is not None:
        return need.branch(call)
    return call.changed_branch if need.action in _OBJECT_CHANGES else None
