"""Requests of S3, between ASGI and the door: bodies brought in, answers sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial

from anabranch.errors import AnabranchError, Truncated
from anabranch.s3.answer import Answer
from anabranch.s3.door import Door, Visit
from anabranch.s3.operation import BodyKind
from anabranch.s3.xml_reader import LARGEST
from anabranch.server.head import Head
from anabranch.server.incoming import Incoming, Receive, body_length
from anabranch.server.inflow import Inflow
from anabranch.server.later import Later, small_body_length
from anabranch.server.metrics import Metrics
from anabranch.server.outflow import Outflow, Sent, send_in_pieces
from anabranch.server.reply import CLOSE, Headers, Reply, Rest, Send
from anabranch.server.workers import Calls, Workers

__all__ = ["S3Requests", "reply_to"]

_NO_BODY = frozenset({204, 304})
_EXPECT = "expect"
"""The header of a client that waits with its body until it is told to send it."""
_FIELDS_SECONDS = 20
"""How long the fields of a form may take."""
_FRAMING = 1 << 20
"""What chunks may add to a document, in bytes."""


class S3Requests:
    """Answers requests of S3. `calls` run what is short, `brief_calls` what is brief, `transfers`
    wait for bodies; where `local`, quick operations are answered at once, and with `local_blocks`
    the system may have an object's bytes in its memory.
    """

    def __init__(
        self,
        door: Door,
        calls: Workers,
        transfers: Workers,
        brief_calls: Calls,
        metrics: Metrics,
        *,
        local: bool,
        local_blocks: bool,
    ) -> None:
        self.door = door
        self._calls = calls
        self._brief_calls = brief_calls
        self._transfers = transfers
        self._metrics = metrics
        self._local = local
        self._local_blocks = local_blocks

    def visit(self, head: Head, request_id: str) -> Visit:
        """Returns a request, understood as far as its head says."""
        return self.door.visit(
            head.method, head.raw_path, head.query, head.headers, request_id=request_id
        )

    def answer_at_once(self, visit: Visit) -> Answer | None:
        """Returns the answer to a quick operation; None for all others."""
        return visit.answer() if visit.quick and self._local else None

    def answer_later(
        self, visit: Visit, headers: Mapping[str, str], reply: Callable[[Answer], Reply | Rest]
    ) -> Answer | Later | None:
        """Returns what will answer a brief operation, or the answer that refuses it already; None
        for all others. A quick one is brief where it needs no object's bytes, or has them from
        the memory of this machine if they are there.
        """
        reads = visit.quick and visit.request.method != "HEAD"
        brief = visit.brief or (visit.quick and (self._local_blocks or not reads))
        length = small_body_length(headers)
        if not brief or length is None:
            return None
        if _EXPECT in visit.request.headers:
            if not self._local:
                return None
            refused = visit.admit()
            if refused is not None:
                return refused
        work = partial(_answer_whole, visit)
        return Later(
            self._brief_calls, work, visit.refusal, reply, may_go_on=reads, body_length=length
        )

    async def finish(
        self, visit: Visit, answer: Answer | None, request_id: str, receive: Receive, send: Send
    ) -> Sent:
        """Answers a request, by the answer that is there already or a new one; returns what was
        sent. Raises what breaks it off.
        """
        incoming = Incoming(receive, body_length(visit.request.headers))
        if answer is None:
            with self._metrics.running("gateway", visit.operation):
                answer = await self._answer(visit, incoming)
        if answer.pieces is None:
            await reply_to(visit, answer, request_id, asked_for_body=incoming.begun).send(send)
            return Sent(answer.status, answer.error)

        def reply(answer: Answer) -> Reply:
            return reply_to(visit, answer, request_id, asked_for_body=incoming.begun)

        pieces = Outflow(answer.pieces, self._calls, incoming)
        return await send_in_pieces(
            pieces, reply(answer), lambda error: reply(visit.refusal(error)), send
        )

    async def _answer(self, visit: Visit, incoming: Incoming) -> Answer:
        try:
            if visit.body is BodyKind.WHOLE or _EXPECT in visit.request.headers:
                refused = visit.admit() if self._local else await self._calls.run(visit.admit)
                if refused is not None:
                    return refused
            if visit.body is BodyKind.STREAM:
                return await self._transfer(visit, incoming)
            content: tuple[bytes, ...] = ()
            if visit.body is BodyKind.WHOLE:
                await incoming()
                content = (await incoming.whole(LARGEST + _FRAMING),)
            return await self._calls.run(visit.answer, content)
        except AnabranchError as error:
            return visit.refusal(error)

    async def _transfer(self, visit: Visit, incoming: Incoming) -> Answer:
        await incoming()
        if visit.form:
            await _gather_fields(visit, incoming)
        if incoming.complete:
            return await self._calls.run(visit.answer, (incoming.taken(),))
        inflow = Inflow(incoming)
        pump = asyncio.ensure_future(inflow.pump())
        try:
            return await self._transfers.run(visit.answer, inflow)
        finally:
            pump.cancel()


async def _gather_fields(visit: Visit, incoming: Incoming) -> None:
    """Takes in a form's body up to its file. Who sends it is not known before, so no thread waits
    for it. Raises Truncated.
    """
    try:
        async with asyncio.timeout(_FIELDS_SECONDS):
            await incoming.ahead(visit.reaches_file)
    except TimeoutError:
        raise Truncated(
            f"the fields of the form did not come within {_FIELDS_SECONDS} seconds", kind="idle"
        ) from None


def _answer_whole(visit: Visit, body: bytes) -> Answer:
    return visit.answer((body,))


def reply_to(visit: Visit, answer: Answer, request_id: str, *, asked_for_body: bool) -> Reply:
    """Returns an answer as it is sent. A client that waits with its body and was never asked for
    it may send anything next: its connection ends.
    """
    headers = _headers(answer, request_id)
    headers += visit.cors
    if not asked_for_body and _EXPECT in visit.request.headers:
        headers.append(CLOSE)
    return Reply(answer.status, headers, answer.body)


def _headers(answer: Answer, request_id: str) -> Headers:
    headers = [("x-amz-request-id", request_id), ("x-amz-id-2", request_id)]
    if answer.status not in _NO_BODY:
        headers.append(("content-length", str(answer.length)))
        if answer.content_type:
            headers.append(("content-type", answer.content_type))
    headers += answer.headers
    return headers
