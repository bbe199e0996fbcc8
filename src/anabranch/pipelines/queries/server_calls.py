"""The calls of a query process to its server.

DuckDB makes them from several threads; they are sent one at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["ServerCall", "ServerCalls"]

ServerCall = Callable[[dict[str, Any], bytes], tuple[dict[str, Any], bytes]]
"""Sends a call and its bytes to the server, and returns its result."""


class ServerCalls:
    """Sends calls, and raises the errors that the server returns."""

    def __init__(self, call: ServerCall) -> None:
        self._call = call
        self._lock = threading.Lock()

    def request(self, call: dict[str, Any], content: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """Returns the result of a call that sends bytes, and its bytes. Raises FileNotFoundError
        for an object that does not exist, OSError for other errors of the server.
        """
        with self._lock:
            result, received = self._call(call, content)
        if "error" in result:
            error = FileNotFoundError if result["missing"] else OSError
            raise error(result["error"])
        return result, received
