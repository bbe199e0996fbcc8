"""An operation of the API with what reads the parameters and the body of its requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.rest.protocol.decoding import BodyDecoder, ParamsDecoder
from anabranch.rest.protocol.operation import Operation

__all__ = ["Route"]


class Route:
    """An operation with its decoders, which gateways share. `names` are its path's parameters by
    the names that the router has for them.
    """

    def __init__(self, operation: Operation[Any, Any], names: Mapping[str, str]) -> None:
        self.operation = operation
        self.params = None if operation.params is None else ParamsDecoder(operation.params, names)
        self.body = (
            None
            if operation.body is None
            else BodyDecoder(operation.body, optional=operation.body_optional)
        )
