"""State of a request, from its head until its response is sent."""

from __future__ import annotations

from anabranch.http.execution import Execution
from anabranch.http.gateway_request import GatewayRequest
from anabranch.http.request_head import RequestHead
from anabranch.http.response import Response
from anabranch.spent_time import SpentTime

__all__ = ["Exchange"]


class Exchange:
    """A request that was dispatched. `response` is set if it was executed inline or refused.
    `began` is the time of its arrival, by `time.perf_counter`.
    """

    __slots__ = (
        "awaits_continue",
        "began",
        "caller",
        "execution",
        "head",
        "is_begun",
        "is_cut_off",
        "is_finished",
        "keep_alive",
        "length",
        "request",
        "request_id",
        "response",
        "spent",
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
        """The length of the body in bytes, None for a chunked body."""
        self.request_id = request_id
        self.began = began
        self.spent = SpentTime()
        self.execution = Execution.INLINE
        self.caller = ""
        """Whose share of the threads it takes; see `Callers`. Empty if it needs none."""
        self.takes_body_first = False
        """Whether a small body is buffered before the operation starts."""
        self.response: Response | None = None
        self.keep_alive = True
        """Whether the connection persists after the response."""
        self.awaits_continue = False
        """Whether the client waits for `100 Continue`, which was not sent yet."""
        self.is_begun = False
        """Whether the head of the response was sent."""
        self.is_cut_off = False
        """Whether the client has disconnected, or can no longer be sent a response."""
        self.is_finished = False
        """Whether the client has closed its side of the connection. It gets a response."""

    def is_abandoned(self) -> bool:
        """Returns whether the client has disconnected, or may have: it has closed its side."""
        return self.is_cut_off or self.is_finished
