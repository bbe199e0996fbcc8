"""The edge: the ASGI application, between the asynchronous world of connections and the
synchronous one of everything else.

    requests of S3 ────── s3_requests.py ── s3/
    quick operations ──── answered straight from the ASGI message, here on the event loop
    small bodies, none ── answered from it, too: brief operations in the lane, others on a thread
    long bodies ───────── Falcon ── api_path.py ── a worker's thread
    everything else ───── Falcon ── pages.py

What needs no waiting is answered by `begin`, which connections call before anything asynchronous
begins (`connection.py`). Operations whose body is small or absent bypass Falcon's request and
response, which cost half as much as all the rest of such an answer; the same router finds them and
the same function answers them. Where a store is on another machine, what is quick is only brief.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import falcon
import falcon.asgi
from falcon.routing import CompiledRouter

from anabranch.rest.answer import JSON, Answer
from anabranch.rest.call import Request
from anabranch.rest.errors import answer_error
from anabranch.rest.invocation import Invocation
from anabranch.rest.services import Services
from anabranch.rest.signed_blocks import SIGNED_OPERATIONS
from anabranch.rest.table import BASE_PATH, EXTENSIONS, OPERATIONS
from anabranch.s3.answer import Answer as S3Answer
from anabranch.s3.door import PREFLIGHT, Door, Visit
from anabranch.server import pages
from anabranch.server.api_path import (
    ERROR,
    HEAD,
    INCOMING,
    REQUEST_ID,
    ApiPath,
    invocations_by_path,
    request_of,
)
from anabranch.server.failure_log import log_failure
from anabranch.server.head import Head
from anabranch.server.incoming import Event, Incoming, Receive, body_length
from anabranch.server.later import Later, small_body_length
from anabranch.server.metrics import Metrics, Service
from anabranch.server.outflow import Outflow, Sent, send_in_pieces
from anabranch.server.reply import Headers, Reply, Rest, Scope, Send
from anabranch.server.request_id import RequestIds
from anabranch.server.request_log import RequestLog
from anabranch.server.s3_requests import S3Requests, reply_to
from anabranch.server.workers import Calls, Workers

__all__ = ["BEGUN", "Edge"]

BEGUN = "anabranch.begun"
"""Where in the ASGI scope stands what `begin` returned, if it was called already."""

_NO_BODY = frozenset({204, 304})
_BROKEN_OFF = 500
"""What a response counts as that could not be sent to its end, whatever status it began with: its
connection is closed, by which the client learns of it.
"""


class _Lifespan:
    """Falcon's way to be told that the server stops."""

    def __init__(self, on_shutdown: Callable[[], None]) -> None:
        self._on_shutdown = on_shutdown

    async def process_shutdown(self, scope: Mapping[str, Any], event: Mapping[str, Any]) -> None:  # noqa: ARG002
        await asyncio.to_thread(self._on_shutdown)


class Edge:
    """The ASGI application. Brief operations are `brief_calls`. `local` says that the stores are on
    this machine, without which nothing is answered on the event loop; `on_shutdown` is called when
    the server stops, and who logs out is sent to `logout_url`.
    """

    def __init__(
        self,
        services: Services,
        door: Door,
        *,
        calls: Workers,
        transfers: Workers,
        request_ids: RequestIds,
        request_log: RequestLog,
        logout_url: str,
        on_shutdown: Callable[[], None],
        brief_calls: Calls,
        local: bool,
        local_blocks: bool,
    ) -> None:
        self._request_ids = request_ids
        self._door = door
        self._local = local
        self._local_blocks = local_blocks
        self._calls = calls
        self._brief_calls = brief_calls
        self.metrics = Metrics(
            {
                operation.id: operation.method
                for operation in (*OPERATIONS, *EXTENSIONS, *SIGNED_OPERATIONS)
            }
        )
        self._log = request_log
        self._s3 = S3Requests(
            door,
            calls,
            transfers,
            brief_calls,
            self.metrics,
            local=local,
            local_blocks=local_blocks,
        )
        self._router = CompiledRouter()
        self._falcon = falcon.asgi.App(router=self._router, middleware=_Lifespan(on_shutdown))
        # an answer without a body has no type either
        self._falcon.resp_options.default_media_type = None  # type: ignore[assignment]
        self._falcon.router_options.default_to_on_request = True
        pages.add_to(
            self._falcon,
            logout_url=logout_url,
            metrics=self.metrics.text,
        )
        paths = invocations_by_path((*OPERATIONS, *EXTENSIONS), services, base=BASE_PATH)
        paths |= invocations_by_path(SIGNED_OPERATIONS, services)
        for template, invocations in paths.items():
            self._falcon.add_route(template, ApiPath(invocations, calls, transfers))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request (or takes part in the server's start and stop)."""
        if scope["type"] != "http":
            await self._falcon(scope, receive, send)
            return
        begun = scope.pop(BEGUN, None) or self.begin(Head.of(scope))
        if isinstance(begun, Reply):
            await begun.send(send)
        else:
            await begun(scope, receive, send)

    def begin(self, head: Head) -> Reply | Later | Rest:
        """Returns the answer to a request if it needs no waiting, else what will answer it."""
        began = time.perf_counter()
        headers = head.headers
        request_id = self._request_ids.of(headers)
        if self._door.takes(headers, head.query):
            return self._begin_s3(request_id, head, began)
        found = self._router.find(head.path)
        path = None if found is None else found[0]
        if (
            found is None or (head.method == PREFLIGHT and not isinstance(path, ApiPath))
        ) and self._door.takes_unknown(head.method, headers):
            return self._begin_s3(request_id, head, began)
        invocation = path.invocations.get(head.method) if isinstance(path, ApiPath) else None
        if found is None or invocation is None:
            return partial(self._answer_others, request_id, head)
        refused = invocation.refuse_unknown(headers, found[2])
        if refused is not None:
            operation_id = invocation.operation.id
            self._answered("api", operation_id, Sent(refused.status, None), began, head, request_id)
            return _reply_to(refused, request_id)
        return self._begin_operation(invocation, found[2], request_id, head, began)

    def _begin_operation(
        self,
        invocation: Invocation,
        segments: Mapping[str, str],
        request_id: str,
        head: Head,
        began: float,
    ) -> Reply | Later | Rest:
        operation = invocation.operation
        at_once = operation.quick and self._local
        length = small_body_length(head.headers)
        if not at_once and length is None:
            return partial(self._answer_slowly, invocation, request_id, head, began)
        request = request_of(head, segments, request_id)
        reply = partial(self._replied, invocation, request, head, began)
        if at_once:
            return reply(invocation(request))
        reads = operation.response is bytes
        if operation.brief or (operation.quick and (self._local_blocks or not reads)):
            calls, running = self._brief_calls, None
        else:
            calls, running = self._calls, partial(self.metrics.running, "api", operation.id)
        work = partial(_answer_whole, invocation, request, running)
        return Later(calls, work, answer_error, reply, may_go_on=reads, body_length=length or 0)

    def _begin_s3(self, request_id: str, head: Head, began: float) -> Reply | Later | Rest:
        visit = self._s3.visit(head, request_id)
        reply = partial(self._replied_s3, visit, request_id, head, began)
        answer = self._s3.answer_at_once(visit)
        if answer is None:
            later = self._s3.answer_later(visit, head.headers, partial(reply, asked_for_body=True))
            if isinstance(later, Later):
                return later
            answer = later
        if answer is None:
            return partial(self._answer_s3, visit, None, request_id, head, began)
        return reply(answer)

    def _replied_s3(
        self,
        visit: Visit,
        request_id: str,
        head: Head,
        began: float,
        answer: S3Answer,
        *,
        asked_for_body: bool = False,
    ) -> Reply | Rest:
        if answer.pieces is not None:
            return partial(self._answer_s3, visit, answer, request_id, head, began)
        sent = Sent(answer.status, answer.error)
        self._answered("gateway", visit.operation, sent, began, head, request_id)
        return reply_to(visit, answer, request_id, asked_for_body=asked_for_body)

    async def _answer_s3(
        self,
        visit: Visit,
        answer: S3Answer | None,
        request_id: str,
        head: Head,
        began: float,
        _scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        try:
            sent = await self._s3.finish(visit, answer, request_id, receive, send)
        except Exception as error:  # noqa: BLE001  uvicorn ends the connection
            sent = Sent(_BROKEN_OFF, error)
        self._answered("gateway", visit.operation, sent, began, head, request_id)

    def _replied(
        self, invocation: Invocation, request: Request, head: Head, began: float, answer: Answer
    ) -> Reply | Rest:
        if answer.pieces is not None:
            return partial(self._answer_in_pieces, invocation, answer, request.id, head, began)
        sent = Sent(answer.status, answer.error)
        self._answered("api", invocation.operation.id, sent, began, head, request.id)
        return _reply_to(answer, request.id)

    async def _answer_in_pieces(
        self,
        invocation: Invocation,
        answer: Answer,
        request_id: str,
        head: Head,
        began: float,
        _scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        operation = invocation.operation.id
        pieces = Outflow(answer.pieces or iter(()), self._calls, Incoming(receive))
        with self.metrics.running("api", operation):
            try:
                sent = await send_in_pieces(
                    pieces,
                    _reply_to(answer, request_id),
                    lambda error: _reply_to(answer_error(error), request_id),
                    send,
                )
            except Exception as error:  # noqa: BLE001  as above
                sent = Sent(_BROKEN_OFF, error)
        self._answered("api", operation, sent, began, head, request_id)

    async def _answer_slowly(
        self,
        invocation: Invocation,
        request_id: str,
        head: Head,
        began: float,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        operation = invocation.operation.id
        with self.metrics.running("api", operation):
            try:
                status = await self._answer_others(request_id, head, scope, receive, send)
                sent = Sent(status, scope.get(ERROR))
            except Exception as error:  # noqa: BLE001  as above
                sent = Sent(_BROKEN_OFF, error)
        self._answered("api", operation, sent, began, head, request_id)

    async def _answer_others(
        self, request_id: str, head: Head, scope: Scope, receive: Receive, send: Send
    ) -> int:
        """Has Falcon answer, and returns the status."""
        status = 0

        async def noting(event: Event) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
            await send(event)

        incoming = Incoming(receive, body_length(head.headers))
        scope[HEAD] = head
        scope[INCOMING] = incoming
        scope[REQUEST_ID] = request_id
        await self._falcon(scope, incoming, noting)
        return status

    def _answered(
        self,
        service: Service,
        operation: str,
        sent: Sent,
        began: float,
        head: Head,
        request_id: str,
    ) -> None:
        status, error = sent
        self.metrics.answered(service, operation, status, began)
        if error is not None:
            log_failure(service, operation, status, error, head, request_id)
        if self._log.on:
            self._log.answered(service, operation, status, began, head, request_id)


def _answer_whole(
    invocation: Invocation,
    request: Request,
    running: Callable[[], AbstractContextManager[None]] | None,
    body: bytes,
) -> Answer:
    """Returns the answer to a request with its whole body; it is counted as `running` meanwhile."""
    request.body = body
    request.content = (body,)
    if running is None:
        return invocation(request)
    with running():
        return invocation(request)


def _reply_to(answer: Answer, request_id: str) -> Reply:
    return Reply(answer.status, _headers(answer, request_id), answer.body)


def _headers(answer: Answer, request_id: str) -> Headers:
    headers = [("x-request-id", request_id)]
    if answer.status not in _NO_BODY:
        headers.append(("content-length", str(answer.length)))
    if answer.content_type:
        headers.append(("content-type", answer.content_type))
    if answer.content_type == JSON:
        headers.append(("x-content-type-options", "nosniff"))
    headers += answer.headers
    return headers
