"""Requests with an `Idempotency-Key`: each is carried out once, however often it is sent.

What a repeated request needs to be answered is recorded in the write of the change itself. That is
no whole response, since responses have keys that end.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

import msgspec

from anabranch.errors import Conflict, Invalid
from anabranch.model.recorded_response import RecordedResponse
from anabranch.versioning.idempotency import IdempotencyKeys, StoredResponse
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["HEADER", "Repetition"]

HEADER = "idempotency-key"
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def _nothing() -> bytes:
    return b""


class Repetition:
    """A request with a key, which may repeat an earlier one of the principal."""

    def __init__(
        self, keys: IdempotencyKeys, principal: str, key: str, operation: str, content: bytes
    ) -> None:
        if not _KEY.fullmatch(key):
            raise Invalid(
                "Idempotency-Key is not valid",
                kind="invalid_idempotency_key",
                hint="Use 1 to 255 visible ASCII characters, for example a UUID.",
            )
        self._keys = keys
        self._principal = principal
        self._key = f"iceberg {key}"
        self._expired: StoredResponse | None = None
        self._has_failed = False
        named = msgspec.json.encode([operation, hashlib.sha256(content).hexdigest()])
        self._fingerprint = hashlib.sha256(named).hexdigest()
        self.outcome: Callable[[], bytes] = _nothing
        """Returns what answers a repeated request, once the change is decided."""

    def recorded(self) -> bytes | None:
        """Returns what answers the request, None if it was not carried out. Raises Invalid (kind
        idempotency_key_reused) if the key was used for another request.
        """
        stored = self._keys.find(self._principal, self._key)
        if stored is not None and not self._keys.is_valid(stored.response):
            self._expired, stored = stored, None
        if stored is None:
            return None
        if stored.response.fingerprint != self._fingerprint:
            raise Invalid(
                "Idempotency-Key is already used for another request",
                kind="idempotency_key_reused",
                hint="Use a new key for each request, and the same key to repeat it.",
            )
        return stored.response.body

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns the writes that record the outcome, on condition that none is recorded. Raises
        Conflict (kind repeated_request) if an equal request was faster: its outcome answers this
        one, and no attempt to make the change would succeed.
        """
        if self._has_failed and self.recorded() is not None:
            raise Conflict(
                "the request was carried out already",
                kind="repeated_request",
                hint="Send it again with its key: the answer is the recorded one.",
            )
        self._has_failed = True  # when it is asked again
        response = RecordedResponse(
            fingerprint=self._fingerprint, time=0, status=200, body=self.outcome()
        )
        return self._keys.recording(self._principal, self._key, response, self._expired)
