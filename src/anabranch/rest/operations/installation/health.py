"""Health: whether the server answers."""

from __future__ import annotations

from anabranch.http.execution import Execution
from anabranch.rest.protocol.call import Call
from anabranch.rest.protocol.operation import Access, Operation

__all__ = ["OPERATIONS"]


def health_check(_: Call[None, None]) -> None:
    """Answers."""


OPERATIONS = (
    Operation(
        id="healthCheck",
        tag="healthCheck",
        method="GET",
        path="/healthcheck",
        summary="check that the API server is up and running",
        permission=Access.NO_AUTH,
        status=204,
        execution=Execution.INLINE,
        handler=health_check,
    ),
)
