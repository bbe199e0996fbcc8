"""The recorded response to a request with an idempotency key, which retries receive."""

from __future__ import annotations

import msgspec

__all__ = ["RecordedResponse"]


class RecordedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """A response; `fingerprint` is a digest of the operation, its parameters and its body, `time`
    is when it was recorded, in seconds since 1970.
    """

    fingerprint: str
    time: int
    status: int
    content_type: str = ""
    body: bytes = b""
