"""Dispatcher of requests: selects the gateway by the head, and executes the operation inline, on a
thread, or in a batch. Every request of every connection passes through `dispatch`.

    RequestHead ── S3 gateway ─────┐
               ├── REST gateway ───┼── Exchange, whose execution is resolved ── Response
               └── pages ──────────┘

    inline      the response is set when `dispatch` returns
    batched     `start`, when the small body is complete: a call on the batch thread
    brief       inline or batched; if it takes long, from the beginning as a pooled one
    pooled      `start`: a call on a thread of the pool; or `serve` for a longer body
    streamed    `serve`: a thread that reads the body while it arrives
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from typing import NamedTuple, Protocol

from anabranch.brevity import TakesLong, brief, deciding_briefly
from anabranch.catalog.usage import Usage
from anabranch.errors import AnabranchError, Busy, Invalid, Truncated
from anabranch.http.abandonment import reset_abandonment, set_abandonment
from anabranch.http.execution import BRIEF, BodyKind, Execution
from anabranch.http.gateway_request import GatewayRequest
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.no_waiting import WouldWait, no_waiting
from anabranch.rest.gateway import RestGateway
from anabranch.s3.gateway import PREFLIGHT, S3Gateway
from anabranch.server.execution.batch_thread import BatchThread
from anabranch.server.execution.callers import Callers
from anabranch.server.execution.policy import (
    MAX_SMALL_BODY,
    StoreCapabilities,
    asks_for_long_page,
    is_tried_inline,
    may_name_far_ancestor,
    resolve,
)
from anabranch.server.execution.thread_pool import ThreadPool
from anabranch.server.execution.turns import Turns
from anabranch.server.http.exchange import Exchange
from anabranch.server.http.pages import Pages
from anabranch.server.http.request_body import RequestBody, require_length
from anabranch.server.http.response_stream import Sink, send_pieces
from anabranch.server.observability.failure_log import log_failure
from anabranch.server.observability.metrics import Metrics
from anabranch.server.observability.request_id import RequestIds
from anabranch.server.observability.request_log import RequestLog
from anabranch.server.observability.slow_log import CompletedRequest, SlowLog
from anabranch.spent_time import SpentTime, performed, reset_spent_time, set_spent_time

__all__ = ["Dispatcher", "Executors"]

BEGIN_SECONDS = 20
"""Timeout for the fields of a form, which must be received before a thread is used."""
GATHERED_BYTES = 128 << 10
"""How much of a longer body must have arrived before a thread is used: a client that sends a byte
a second needs none.
"""

_log = logging.getLogger(__name__)

Done = Callable[[Response | None], None]
"""Receives a response on the event loop; None after an unexpected error."""


class OptionalGateway(Protocol):
    """A gateway that not every server has."""

    def request(self, head: RequestHead, request_id: str) -> GatewayRequest | None:
        """Returns the request of a path; None for a path of another gateway."""


class Telemetry(Protocol):
    """What follows requests for a program elsewhere."""

    def begin(self, head: RequestHead) -> SpentTime:
        """Returns the record of a request that has arrived."""

    def completed(self, request: CompletedRequest, took: float, spent: SpentTime) -> None:
        """Takes a request that took so many seconds, with its record."""


class Executors(NamedTuple):
    """Executors of calls: `batched` is the batch thread, `transfers` reads streamed bodies."""

    pool: ThreadPool
    transfers: ThreadPool
    batched: BatchThread


class Dispatcher:
    """Dispatches the requests of all connections of a process."""

    def __init__(
        self,
        rest: RestGateway,
        s3: S3Gateway,
        pages: Pages,
        executors: Executors,
        stores: StoreCapabilities,
        *,
        metrics: Metrics,
        request_ids: RequestIds,
        request_log: RequestLog,
        slow_log: SlowLog,
        usage: Usage,
        telemetry: Telemetry | None = None,
        optional: Sequence[OptionalGateway] = (),
    ) -> None:
        self._rest = rest
        self._s3 = s3
        self._pages = pages
        self.executors = executors
        self.turns = Turns(executors.batched)
        self._callers = Callers()
        self._stores = stores
        self._metrics = metrics
        self._request_ids = request_ids
        self._log = request_log
        self._slow_log = slow_log
        self._usage = usage
        self._telemetry = telemetry
        self._optional = optional

    def dispatch(
        self,
        head: RequestHead,
        length: int | None,
        *,
        arrived: bool = True,
        awaits_continue: bool = False,
    ) -> Exchange:
        """Returns the exchange of a request. `length` is the body's length in bytes, None for a
        chunked body; `arrived` is whether the body is complete.
        """
        began = time.perf_counter()
        request_id = self._request_ids.of(head.headers)
        request = self._route(head, request_id)
        exchange = Exchange(head, request, length, request_id, began)
        exchange.awaits_continue = awaits_continue
        if self._telemetry is not None:
            exchange.spent = self._telemetry.begin(head)
        exchange.response = request.respond_early()
        if exchange.response is not None:
            return exchange
        exchange.execution = resolve(
            *(request.execution, request.body, length, self._stores),
            is_long=may_name_far_ancestor(head.path, head.query) or asks_for_long_page(head.query),
        )
        if self._responds_at_once(exchange):
            return exchange
        if exchange.execution is not Execution.BATCHED:
            exchange.caller = self._callers.of(head)
        exchange.takes_body_first = arrived
        if arrived:
            return exchange
        exchange.takes_body_first = length is not None and length <= MAX_SMALL_BODY
        exchange.spent.awaits_body_since = time.perf_counter()
        if request.admits_first and not self._admits_at_once(exchange):
            may_wait = exchange.execution is Execution.BATCHED and not awaits_continue
            exchange.takes_body_first = exchange.takes_body_first and may_wait
        return exchange

    def _admits_at_once(self, exchange: Exchange) -> bool:
        """Decides whether the caller may proceed; returns False if that belongs to a thread."""
        if not self._stores.local:
            return False
        with suppress(TakesLong), deciding_briefly():
            exchange.response = exchange.request.admit()
            return True
        exchange.execution = Execution.POOLED
        return False

    def _responds_at_once(self, exchange: Exchange) -> bool:
        """Executes an inline operation, or tries one; returns whether it has its response."""
        request = exchange.request
        if exchange.execution is Execution.INLINE:
            attempt = brief if request.execution in BRIEF else deciding_briefly
            with suppress(TakesLong), attempt():
                self._respond_inline(exchange)
                return True
            exchange.execution = Execution.POOLED
        elif is_tried_inline(
            request.execution, exchange.execution, exchange.head.path, self._stores
        ):
            with suppress(WouldWait, TakesLong), no_waiting(), deciding_briefly():
                self._respond_inline(exchange)
                return True
        return False

    def _respond_inline(self, exchange: Exchange) -> None:
        token = set_spent_time(exchange.spent)
        try:
            exchange.response = exchange.request.respond(())
        finally:
            reset_spent_time(token)

    def _route(self, head: RequestHead, request_id: str) -> GatewayRequest:
        """Returns the request as parsed by the gateway that serves it."""
        headers = head.headers
        if self._s3.matches(headers, head.query):
            return self._s3.request(head, request_id)
        request = self._rest.request(head, request_id)
        if request is not None:
            return request
        for gateway in self._optional:
            taken = gateway.request(head, request_id)
            if taken is not None:
                return taken
        page = self._pages.request(head)
        is_unknown = page is None or head.method == PREFLIGHT
        if is_unknown and self._s3.matches_unknown_path(head.method, headers):
            return self._s3.request(head, request_id)
        if page is not None:
            return page
        is_api = self._rest.has(head.path)
        return self._rest.missing(request_id) if is_api else self._pages.missing()

    def start(self, exchange: Exchange, body: bytes, done: Done) -> None:
        """Starts the operation, with the complete body."""
        request, spent = exchange.request, exchange.spent
        if spent.awaits_body_since is not None:
            spent.client += time.perf_counter() - spent.awaits_body_since
            spent.awaits_body_since = None
        ended = partial(_finish, done)
        try:
            if exchange.length is not None:
                require_length(len(body), exchange.length)
            if exchange.execution is Execution.BATCHED:
                attempt = brief if request.execution in BRIEF else deciding_briefly
                respond = partial(_respond_within, attempt, request.respond)
                ended = partial(self._end_brief, exchange, body, done)
                self.executors.batched.submit(performed(spent, respond), ((body,),), ended)
                self.turns.end(for_thread=True)
            else:
                work = performed(spent, partial(self._respond, exchange))
                self.executors.pool.submit(work, ((body,),), ended, caller=exchange.caller)
        except (Busy, Truncated) as error:
            done(request.respond_to_error(error))

    def _end_brief(
        self,
        exchange: Exchange,
        body: bytes,
        done: Done,
        response: Response | None,
        error: BaseException | None,
    ) -> None:
        """Passes a batched response on; an operation that would take long starts on the pool."""
        if not isinstance(error, TakesLong):
            _finish(done, response, error)
            return
        exchange.execution = Execution.POOLED
        exchange.caller = self._callers.of(exchange.head)
        self.start(exchange, body, done)

    def _respond(self, exchange: Exchange, content: Iterable[bytes]) -> Response:
        token = set_abandonment(exchange.is_abandoned)
        try:
            with self._running(exchange.request):
                return exchange.request.respond(content)
        finally:
            reset_abandonment(token)

    async def serve(
        self, exchange: Exchange, body: RequestBody, ask: Callable[[], None]
    ) -> Response:
        """Returns the response to a request whose body is still arriving; `ask` asks the client for
        it, if the client waits for that.
        """
        caller = exchange.caller = exchange.caller or self._callers.of(exchange.head)
        request, pool = exchange.request, self.executors.pool
        try:
            streams = request.body is BodyKind.STREAM and request.is_enough is None
            if streams or request.admits_first:
                refused = await self._admit(exchange)
                if refused is not None:
                    return refused
            if request.body is BodyKind.NONE:
                work = performed(exchange.spent, self._respond)
                return await pool.run(work, exchange, (), caller=caller)
            ask()
            if request.body is BodyKind.WHOLE:
                return await self._serve_whole(exchange, body)
            if request.is_enough is not None:
                await _await_fields(body, request.is_enough)
            else:
                with self._running(request):
                    await body.gather(GATHERED_BYTES)
            executor = pool if body.complete else self.executors.transfers
            work = performed(exchange.spent, self._respond)
            return await executor.run(work, exchange, body, caller=caller)
        except AnabranchError as error:
            return request.respond_to_error(error)
        finally:
            body.fail(Truncated("the rest of the body is not read"))

    async def _admit(self, exchange: Exchange) -> Response | None:
        """Returns the response that refuses the caller, before memory or a thread is used for the
        body; None for a caller that may proceed.
        """
        if self._admits_at_once(exchange):
            return exchange.response
        admit = performed(exchange.spent, exchange.request.admit)
        return await self.executors.pool.run(admit, caller=exchange.caller)

    async def _serve_whole(self, exchange: Exchange, body: RequestBody) -> Response:
        pool, request, caller = self.executors.pool, exchange.request, exchange.caller
        try:
            content = await body.read(request.max_body_bytes)
        except Invalid as error:
            # errors in a body are reported to authenticated clients only
            admit = performed(exchange.spent, request.admit)
            refused = await pool.run(admit, caller=caller)
            return refused or request.respond_to_error(error)
        work = performed(exchange.spent, self._respond)
        return await pool.run(work, exchange, (content,), caller=caller)

    async def stream(self, exchange: Exchange, response: Response, sink: Sink) -> Response:
        """Sends a response in pieces; see `send_pieces`."""
        exchange.caller = exchange.caller or self._callers.of(exchange.head)
        with self._running(exchange.request):
            return await send_pieces(exchange, response, sink, self.executors.pool)

    def _running(self, request: GatewayRequest) -> AbstractContextManager[None]:
        """Counts a request as running within the context."""
        if not request.service:
            return nullcontext()
        return self._metrics.running(request.service, request.operation)

    def completed(self, exchange: Exchange, status: int, error: BaseException | None) -> None:
        """Counts and logs a response."""
        request = exchange.request
        service = request.service
        if not service:
            return
        self._usage.requests += 1
        if exchange.caller and request.user and exchange.caller != f"user {request.user}":
            self._callers.learn(exchange.head, request.user)
        took = time.perf_counter() - exchange.began
        self._metrics.completed(service, request.operation, status, took)
        is_slow = took >= self._slow_log.seconds
        if is_slow or self._telemetry is not None:
            ended = CompletedRequest(
                service, request.operation, request.user, status, exchange.head, exchange.request_id
            )
            if is_slow:
                self._slow_log.completed(ended, took, exchange.spent, with_path=self._log.on)
            if self._telemetry is not None:
                self._telemetry.completed(ended, took, exchange.spent)
        if error is not None:
            log_failure(
                service, request.operation, status, error, exchange.head, exchange.request_id
            )
        if self._log.on:
            self._log.completed(
                service,
                request.operation,
                status,
                took,
                exchange.head,
                exchange.request_id,
            )


async def _await_fields(body: RequestBody, is_enough: Callable[[bytes], bool]) -> None:
    """Waits for the fields of a form, so that no thread waits for a client that sends too little to
    be authenticated. Raises Truncated.
    """
    try:
        async with asyncio.timeout(BEGIN_SECONDS):
            await body.begin(is_enough)
    except TimeoutError:
        raise Truncated(
            f"the fields of the form did not come within {BEGIN_SECONDS} seconds", kind="idle"
        ) from None


def _respond_within(
    attempt: Callable[[], AbstractContextManager[None]],
    respond: Callable[[Iterable[bytes]], Response],
    content: Iterable[bytes],
) -> Response:
    with attempt():
        return respond(content)


def _finish(done: Done, response: Response | None, error: BaseException | None) -> None:
    if error is not None:
        _log.error("a call failed", exc_info=error)
    done(response if error is None else None)
