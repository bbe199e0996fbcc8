"""Whether bytes are a message of JSON-RPC 2.0, more strictly than the SDK sees it."""

from __future__ import annotations

import json
from typing import NamedTuple

from mcp import types
from pydantic import ValidationError

__all__ = ["Fault", "fault_of"]


class Fault(NamedTuple):
    """Why bytes are no message: the code of JSON-RPC, and a sentence."""

    code: int
    message: str

    def response(self) -> str:
        """Returns the response, which has no id, as JSON."""
        return json.dumps({"jsonrpc": "2.0", "id": None, "error": self._asdict()})


def fault_of(content: bytes) -> Fault | None:
    """Returns what is wrong with bytes, None for a message. The SDK takes a request whose id is
    neither a number nor a text for a notification, which has no response.
    """
    try:
        decoded = json.loads(content)
    except (ValueError, RecursionError):
        return Fault(types.PARSE_ERROR, "this is not JSON in UTF-8")
    try:
        message = types.jsonrpc_message_adapter.validate_json(content, by_name=False)
    except ValidationError:
        return Fault(types.INVALID_REQUEST, "this is not a message of JSON-RPC 2.0")
    if isinstance(message, types.JSONRPCNotification) and "id" in decoded:
        return Fault(types.INVALID_REQUEST, "the id is neither a number nor a text")
    return None
