"""A path of the API as a resource of Falcon's: its operations by method, run on threads.

Quick operations have a shorter way, in `edge.py`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from typing import Any

import falcon.asgi

from anabranch.errors import AnabranchError, Invalid
from anabranch.rest.answer import JSON, Answer
from anabranch.rest.call import Request
from anabranch.rest.errors import answer_error
from anabranch.rest.invocation import Invocation, not_found
from anabranch.rest.operation import BodyKind, Operation
from anabranch.rest.services import Services
from anabranch.server.head import Head
from anabranch.server.incoming import Incoming
from anabranch.server.inflow import Inflow
from anabranch.server.outflow import Outflow
from anabranch.server.workers import Workers

__all__ = [
    "ERROR",
    "HEAD",
    "INCOMING",
    "REQUEST_ID",
    "ApiPath",
    "invocations_by_path",
    "request_of",
]

INCOMING = "anabranch.incoming"
"""Where in the ASGI scope the request's body waits."""

HEAD = "anabranch.head"
"""Where in the ASGI scope its head stands."""

REQUEST_ID = "anabranch.request_id"
"""Where in the ASGI scope its name stands."""

ERROR = "anabranch.error"
"""Where in the ASGI scope stands what the answer tells of, if it is an error."""

JSON_LIMIT = 8 * 1024 * 1024

_NAME = re.compile(r"\{(\w+)\}(:\w+)?")


class ApiPath:
    """The operations of one path. `calls` run what is short, `transfers` wait for bodies."""

    def __init__(
        self, invocations: Mapping[str, Invocation], calls: Workers, transfers: Workers
    ) -> None:
        self.invocations = invocations
        self._calls = calls
        self._transfers = transfers

    async def on_request(
        self, req: falcon.asgi.Request, resp: falcon.asgi.Response, **segments: str
    ) -> None:
        """Answers any method."""
        invocation = self.invocations.get(req.method)
        scope = req.scope
        incoming: Incoming = scope[INCOMING]
        request_id: str = scope[REQUEST_ID]
        if invocation is None:
            answer = answer_error(not_found())
        else:
            request = request_of(scope[HEAD], segments, request_id)
            answer = await self._answer(invocation, request, incoming)
        resp.append_header("X-Request-ID", request_id)
        scope[ERROR] = await self._write(answer, resp, incoming)

    on_options = on_request

    async def _answer(self, invocation: Invocation, request: Request, incoming: Incoming) -> Answer:
        kind = invocation.operation.body_kind
        try:
            if kind is BodyKind.STREAM:
                if not incoming.complete:
                    return await self._transfer(invocation, request, incoming)
                request.content = (incoming.taken(),)
            elif kind is BodyKind.JSON:
                request.body = await self._whole_body(invocation, request, incoming)
            return await self._calls.run(invocation, request)
        except AnabranchError as error:
            return answer_error(error)

    async def _whole_body(
        self, invocation: Invocation, request: Request, incoming: Incoming
    ) -> bytes:
        try:
            return await incoming.whole(JSON_LIMIT)
        except Invalid:
            # what is wrong with a body is told to a client that is known
            await self._calls.run(invocation.authenticate, request)
            raise

    async def _transfer(
        self, invocation: Invocation, request: Request, incoming: Incoming
    ) -> Answer:
        inflow = Inflow(incoming)
        request.content = inflow
        pump = asyncio.ensure_future(inflow.pump())
        try:
            return await self._transfers.run(invocation, request)
        finally:
            pump.cancel()

    async def _write(
        self, answer: Answer, resp: falcon.asgi.Response, incoming: Incoming
    ) -> BaseException | None:
        """Writes the answer, or that its body cannot be read; returns the error it tells of."""
        pieces = None
        if answer.pieces is not None:
            pieces = Outflow(answer.pieces, self._calls, incoming)
            try:
                await pieces.begin()
            except AnabranchError as error:
                pieces, answer = None, answer_error(error)
        resp.status = answer.status
        for name, value in answer.headers:
            resp.append_header(name, value)
        if answer.content_type:
            resp.content_type = answer.content_type
            if answer.content_type == JSON:
                resp.set_header("X-Content-Type-Options", "nosniff")
        if pieces is not None:
            resp.stream = pieces
            resp.content_length = answer.length
        elif answer.length and not answer.body:
            resp.content_length = answer.length
        else:
            resp.data = answer.body
        return answer.error


def request_of(head: Head, segments: Mapping[str, str], request_id: str) -> Request:
    """Returns a request for the operations of a path, given what its segments stand for."""
    return Request(segments, head.query, head.headers, id=request_id, secure=head.scheme == "https")


def invocations_by_path(
    operations: Iterable[Operation[Any, Any]], services: Services, *, base: str = ""
) -> dict[str, dict[str, Invocation]]:
    """Returns the operations, ready to be called, by the router's template of their path and by
    method. A template calls parameters by their position, since the router must call those of
    all operations alike. Paths begin with `base`.
    """
    paths: dict[str, dict[str, Invocation]] = {}
    for operation in operations:
        parts = (base + operation.path).split("/")
        names: dict[str, str] = {}
        for position, part in enumerate(parts):
            match = _NAME.fullmatch(part)
            if match is not None:
                segment = f"s{position}"
                names[segment] = match[1]
                parts[position] = f"{{{segment}}}{match[2] or ''}"
        methods = paths.setdefault("/".join(parts), {})
        methods[operation.method] = Invocation(operation, services, names)
    return paths
