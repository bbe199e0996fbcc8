"""What the server needs to know of a request that a gateway has taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, Protocol

from anabranch.errors import AnabranchError
from anabranch.http.execution import BodyKind, Execution
from anabranch.http.response import Headers, Response

__all__ = ["GatewayRequest", "Service"]

Service = Literal["api", "gateway", ""]
"""The name of a gateway in metrics and logs; empty for pages, which are in neither."""


class GatewayRequest(Protocol):
    """A request matched to an operation. Its methods are synchronous and run on any thread, one at
    a time; each returns a response whatever happens.
    """

    @property
    def service(self) -> Service:
        """The gateway."""

    @property
    def operation(self) -> str:
        """The id of the operation."""

    @property
    def user(self) -> str:
        """The name of the user, once the request is authenticated; empty before, and without."""

    @property
    def execution(self) -> Execution:
        """The execution that the operation declares."""

    @property
    def body(self) -> BodyKind:
        """How the operation takes its body."""

    @property
    def max_body_bytes(self) -> int:
        """The longest body that is read whole."""

    @property
    def admits_first(self) -> bool:
        """Whether `admit` is called before any of the body is taken."""

    @property
    def is_enough(self) -> Callable[[bytes], bool] | None:
        """Returns whether the beginning of a body suffices to use a thread for the rest; None where
        nothing of it is needed.
        """

    def respond_early(self) -> Response | None:
        """Returns the response if the head alone tells it, at no cost; None for all others."""

    def admit(self) -> Response | None:
        """Returns the response that refuses the caller; None for a caller that may proceed."""

    def respond(self, content: Iterable[bytes]) -> Response:
        """Returns the response to the request with that body."""

    def respond_to_error(self, error: AnabranchError) -> Response:
        """Returns the response that reports an error."""

    def headers(self, response: Response) -> Headers:
        """Returns all headers of a response, in a new list."""
