"""A request on its way through the server, until its response is sent."""

from __future__ import annotations

from anabranch.http.execution import Execution
from anabranch.http.gateway_request import GatewayRequest
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response

__all__ = ["Exchange"]


class Exchange:
    """One request, as `Dispatcher.dispatch` has understood it. `response` is there if it was
    executed inline or refused already. `began` is when it came, by `time.perf_counter`.
    """

    __slots__ = (
        "awaits_continue",
        "began",
        "execution",
        "head",
        "is_begun",
        "is_cut_off",
        "keep_alive",
        "length",
        "request",
        "request_id",
        "response",
        "takes_body_first",
    )

    def __init__(
        self,
        head: RequestHead,
        request: GatewayRequest,
        length: int | None,
        request_id: str,
        began: float,
    ) -> None:
        self.head = head
        self.request = request
        self.length = length
        """The length of the body in bytes, None where the head does not tell."""
        self.request_id = request_id
        self.began = began
        self.execution = Execution.INLINE
        self.takes_body_first = False
        """Whether the work begins once the whole of a small body is there."""
        self.response: Response | None = None
        self.keep_alive = True
        """Whether the connection persists after the response."""
        self.awaits_continue = False
        """Whether the client waits for `100 Continue`, which it was not sent yet."""
        self.is_begun = False
        """Whether the head of the response was sent."""
        self.is_cut_off = False
        """Whether the client is gone, or can be sent no response any more."""
