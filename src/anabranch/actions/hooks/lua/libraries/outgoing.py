"""Requests that libraries send to services: guarded, within the time of the hook."""

from __future__ import annotations

import time
from collections.abc import Mapping

from anabranch.actions.hooks.contract import HookContext
from anabranch.outbound.address_guard import AddressGuard
from anabranch.outbound.http_request import HttpResponse, send_request

__all__ = ["MAX_RESPONSE_BYTES", "Outgoing"]

MAX_RESPONSE_BYTES = 64 << 20


class Outgoing:
    """Sends the requests of one run."""

    def __init__(self, context: HookContext) -> None:
        self._guard = AddressGuard(context.settings.webhook_allow)
        self._deadline = context.deadline

    def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        timeout: float = 600.0,
        max_redirects: int = 0,
    ) -> HttpResponse:
        """Returns a whole response of any status; `timeout` is in seconds. Raises the errors of
        `send_request`, and ValueError for a response that is too long.
        """
        response = send_request(
            method,
            url,
            guard=self._guard,
            headers=headers,
            body=body,
            timeout=max(0.0, min(timeout, self._deadline - time.monotonic())),
            max_response_bytes=MAX_RESPONSE_BYTES,
            max_redirects=max_redirects,
        )
        if response.is_truncated:
            raise ValueError(f"the response has more than {MAX_RESPONSE_BYTES} bytes")
        return response
