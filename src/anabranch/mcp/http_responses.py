"""Responses to messages of the protocol over HTTP (Streamable HTTP).

Each POST is a message of its own, whose response is JSON: there are no sessions, so any process of
any server can respond, and no message acts for another caller than its own header says. The SDK's
transport, an ASGI application, handles it in an event loop of the thread that has the request.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, MutableMapping
from typing import Any

from mcp import types
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from anabranch.access.access import Access
from anabranch.http.abandonment import IsAbandoned, abandonment
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.mcp.execution import Runner
from anabranch.mcp.lake_server import Offer, make_server, offer
from anabranch.mcp.limits import MAX_BODY_BYTES, CallLimits
from anabranch.mcp.messages import Fault, fault_of
from anabranch.mcp.performers.gateway_performer import GatewayCaller, GatewayPerformer
from anabranch.mcp.performers.workspace_access import WorkspaceAccess
from anabranch.rest.gateway import RestGateway

__all__ = ["Responder"]

_POLL_SECONDS = 0.25
_JSON = "application/json"
_OWN_HEADERS = ("content-type", "content-length", "cache-control")
_CREDENTIALS = ("authorization", "cookie")


class Responder:
    """Responds to the messages of all clients of a process."""

    def __init__(
        self,
        rest: RestGateway,
        access: Access,
        workspaces: WorkspaceAccess,
        version: str,
        limits: CallLimits,
        *,
        write: bool,
    ) -> None:
        self._rest = rest
        self._access = access
        self._workspaces = workspaces
        self._offer: Offer = offer(version, write=write)
        self._write = write
        self._runner = Runner(limits)
        # the SDK logs each request's beginning and end as those of a server
        logging.getLogger("mcp").setLevel(logging.WARNING)

    def respond(self, head: RequestHead, request_id: str, body: bytes) -> Response:
        """Returns the response to a message of an authenticated client."""
        fault = fault_of(body)
        if fault is not None:
            return Response(400, fault.response().encode(), content_type=_JSON)
        caller = GatewayCaller(
            authorization=head.headers["authorization"],
            scheme=head.scheme,
            host=head.headers.get("host", ""),
            client=head.client,
            request_id=request_id,
        )
        try:
            return self._respond(head, body, caller)
        except Exception as error:  # noqa: BLE001  the client gets a response for every error
            fault = Fault(types.INTERNAL_ERROR, "internal error")
            return Response(500, fault.response().encode(), content_type=_JSON, error=error)

    def _respond(self, head: RequestHead, body: bytes, caller: GatewayCaller) -> Response:
        performer = GatewayPerformer(
            *(self._rest, caller, self._access, self._workspaces), writes=self._write
        )
        server = make_server(self._offer, performer, self._runner)
        manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
        )
        return asyncio.run(_Exchange(head, body).run(manager, abandonment()))


class _Exchange:
    """A request and its response as an ASGI application sees them."""

    def __init__(self, head: RequestHead, body: bytes) -> None:
        self._body = body
        self._is_received = False
        self._parts: list[bytes] = []
        self._response = Response(500)
        self._scope: MutableMapping[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": head.method,
            "scheme": head.scheme,
            "path": head.path,
            "raw_path": head.raw_path.encode("latin-1", "replace"),
            "query_string": head.query.encode("latin-1", "replace"),
            "headers": _encoded(head.headers),
        }

    async def run(
        self, manager: StreamableHTTPSessionManager, is_abandoned: IsAbandoned
    ) -> Response:
        """Returns the response. If the client goes away, the call is cancelled."""
        async with manager.run():
            task = asyncio.ensure_future(
                manager.handle_request(self._scope, self._receive, self._send)
            )
            while not task.done():
                await asyncio.wait({task}, timeout=_POLL_SECONDS)
                if is_abandoned():
                    task.cancel()
                    await asyncio.wait({task})
                    return Response(503)
            task.result()
        self._response.body = b"".join(self._parts)
        self._response.length = len(self._response.body)
        return self._response

    async def _receive(self) -> dict[str, Any]:
        if self._is_received:
            # a disconnection cancels the task: there is nothing more to receive
            await asyncio.get_running_loop().create_future()
        self._is_received = True
        return {"type": "http.request", "body": self._body, "more_body": False}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            headers = [(name.decode(), value.decode()) for name, value in message["headers"]]
            kept = [(name, value) for name, value in headers if name not in _OWN_HEADERS]
            kind = dict(headers).get("content-type", _JSON)
            self._response = Response(message["status"], content_type=kind, headers=kept)
        elif message["type"] == "http.response.body":
            self._parts.append(message.get("body", b""))


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Returns headers as ASGI has them, without credentials, which the SDK does not need."""
    return [
        (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in headers.items()
        if name.lower() not in _CREDENTIALS
    ]
