"""Requests of S3, between ASGI and the door: bodies brought in, answers sent."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from anabranch.errors import AnabranchError
from anabranch.s3.answer import Answer
from anabranch.s3.door import Door, Visit
from anabranch.s3.operation import BodyKind
from anabranch.s3.xml_reader import LARGEST
from anabranch.server.incoming import Event, Incoming, Receive
from anabranch.server.inflow import Inflow
from anabranch.server.metrics import Metrics
from anabranch.server.outflow import Outflow
from anabranch.server.workers import Workers

__all__ = ["S3Requests"]

Send = Callable[[Event], Awaitable[None]]

_NO_BODY = frozenset({204, 304})
_EXPECT = "expect"
"""The header of a client that waits with its body until it is told to send it."""
_FRAMING = 1 << 20
"""What chunks may add to a document, in bytes."""


class S3Requests:
    """Answers requests of S3. `calls` run what is short, `transfers` wait for bodies; where
    `local`, quick operations are answered at once.
    """

    def __init__(
        self, door: Door, calls: Workers, transfers: Workers, metrics: Metrics, *, local: bool
    ) -> None:
        self.door = door
        self._calls = calls
        self._transfers = transfers
        self._metrics = metrics
        self._local = local

    async def __call__(
        self, scope: dict[str, Any], receive: Receive, send: Send, request_id: bytes
    ) -> tuple[str, int]:
        """Answers one request; returns which operation it was, and the answer's status."""
        visit = self.door.visit(
            scope["method"],
            scope["raw_path"],
            scope["query_string"],
            scope["headers"],
            request_id=request_id.decode(),
        )
        incoming = Incoming(receive)
        if visit.quick and self._local:
            answer = visit.answer()
        else:
            with self._metrics.running("gateway", visit.operation):
                answer = await self._answer(visit, incoming)
        # a client that was never told to send its body may send anything next
        close = not incoming.begun and _EXPECT in visit.request.headers
        reply = _Reply(send, request_id, close=close)
        if answer.pieces is None:
            await reply.whole(answer)
        else:
            await reply.in_pieces(visit, answer, Outflow(answer.pieces, self._calls, incoming))
        return visit.operation, reply.status

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
        if incoming.complete:
            return await self._calls.run(visit.answer, (incoming.taken(),))
        inflow = Inflow(incoming)
        pump = asyncio.ensure_future(inflow.pump())
        try:
            return await self._transfers.run(visit.answer, inflow)
        finally:
            pump.cancel()


class _Reply:
    """Sends an answer; with `close`, it is the last of its connection. `status` is that of what
    was sent.
    """

    def __init__(self, send: Send, request_id: bytes, *, close: bool) -> None:
        self._send = send
        self._request_id = request_id
        self._close = close
        self.status = 0

    async def whole(self, answer: Answer) -> None:
        """Sends an answer that is there."""
        await self._begin(answer)
        await self._send({"type": "http.response.body", "body": answer.body})

    async def in_pieces(self, visit: Visit, answer: Answer, pieces: Outflow) -> None:
        """Sends an answer whose body is read meanwhile."""
        try:
            try:
                # before the answer begins: that data is lost is told by a status
                piece = await pieces.first()
            except AnabranchError as error:
                await self.whole(visit.refusal(error))
                return
            await self._begin(answer)
            while piece:
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
                piece = await pieces.next()
            await self._send({"type": "http.response.body"})
        finally:
            await pieces.close()

    async def _begin(self, answer: Answer) -> None:
        self.status = answer.status
        headers = _headers(answer, self._request_id)
        if self._close:
            headers.append((b"connection", b"close"))
        await self._send(
            {"type": "http.response.start", "status": answer.status, "headers": headers}
        )


def _headers(answer: Answer, request_id: bytes) -> list[tuple[bytes, bytes]]:
    headers = [(b"x-amz-request-id", request_id), (b"x-amz-id-2", request_id)]
    if answer.status not in _NO_BODY:
        headers.append((b"content-length", b"%d" % answer.length))
    if answer.content_type and answer.status not in _NO_BODY:
        headers.append((b"content-type", answer.content_type.encode("latin-1")))
    headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers]
    return headers
