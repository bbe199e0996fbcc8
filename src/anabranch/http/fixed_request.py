"""A request whose response depends on nothing but its path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from anabranch.errors import AnabranchError
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.response import Headers, Response

__all__ = ["FixedRequest"]


class FixedRequest:
    """A request that `make` makes the response to; with `pooled` on a thread, since that takes
    long, else at once. See `GatewayRequest`.
    """

    __slots__ = ("_make", "_pooled")

    service: Literal[""] = ""
    operation = ""
    execution = Execution.POOLED
    body = BodyKind.NONE
    max_body_bytes = 0
    user = ""
    admits_first = False
    is_enough = None

    def __init__(self, make: Callable[[], Response], *, pooled: bool = False) -> None:
        self._make = make
        self._pooled = pooled

    def respond_early(self) -> Response | None:
        """Returns the response if it takes no time."""
        return None if self._pooled else self._make()

    def admit(self) -> Response | None:
        """Returns None: every caller may proceed."""
        return None

    def respond(self, _: Iterable[bytes]) -> Response:
        """Returns the response."""
        return self._make()

    def respond_to_error(self, _: AnabranchError) -> Response:
        """Returns the response all the same, where no thread is free."""
        return self._make()

    def headers(self, response: Response) -> Headers:
        """Returns all headers of a response."""
        return response.all_headers([], response.content_type)
