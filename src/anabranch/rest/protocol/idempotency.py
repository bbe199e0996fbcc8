"""Requests with an `Idempotency-Key`, which are executed once however often they are sent.

The response is recorded in the same write as the change (`versioning/idempotency.py`); a request
that is repeated within a day gets that response. Keys belong to the user who sent them. It is an
error to reuse a key with another operation, other parameters or another body. The header follows
the IETF draft "The Idempotency-Key HTTP Header Field"; quotes around its value are optional.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from anabranch.errors import AnabranchError, Busy, Conflict, Invalid, OutcomeUnknown
from anabranch.http.response import Response
from anabranch.model.recorded_response import RecordedResponse
from anabranch.rest.protocol.responses import encode
from anabranch.versioning.idempotency import IdempotencyKeys, StoredResponse
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["HEADER", "UNKEYED_HINT", "RepeatedRequest", "fingerprint", "parse_key", "run_once"]

HEADER = "idempotency-key"
REPLAYED = "Idempotency-Replayed"
UNKEYED_HINT = (
    "Check whether the change was made before you repeat the request, for example in the branch's "
    "log. Requests with an Idempotency-Key may be repeated at once."
)
_KEYED_HINT = "Repeat the request with the same Idempotency-Key: the change is made once."

_KEY = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"|([\x21\x23-\x7e]{1,255})')
_ESCAPED = re.compile(r"\\(.)")

T = TypeVar("T")


def parse_key(header: str) -> str:
    """Returns the key in a header's value. Raises Invalid for an invalid value."""
    match = _KEY.fullmatch(header.strip(" \t"))
    if match is None:
        raise Invalid(
            "Idempotency-Key is not valid",
            kind="invalid_idempotency_key",
            hint="Use 1 to 255 visible ASCII characters, for example a UUID.",
        )
    return _ESCAPED.sub(r"\1", match[1]) if match[1] is not None else match[2]


def fingerprint(operation: str, params: object, body: object) -> str:
    """Returns the SHA-256 of a request, in hexadecimal: equal for bodies with equal fields."""
    return hashlib.sha256(encode([operation, params, body])).hexdigest()


class RepeatedRequest:
    """A request with an idempotency key, which may repeat an earlier request. `to_response`
    converts the result of its handler.
    """

    def __init__(
        self,
        keys: IdempotencyKeys,
        principal: str,
        key: str,
        fingerprint: str,
        to_response: Callable[[object], Response],
    ) -> None:
        self._keys = keys
        self._principal = principal
        self._key = key
        self._fingerprint = fingerprint
        self._to_response = to_response
        self._expired: StoredResponse | None = None
        self._attempts = 0

    def recorded(self) -> Response | None:
        """Returns the recorded response to the first request with the key, None if there is none.

        Raises Invalid (kind idempotency_key_reused) if the key was used for another request.
        """
        stored = self._keys.find(self._principal, self._key)
        if stored is not None and not self._keys.is_valid(stored.response):
            self._expired, stored = stored, None
        if stored is None:
            return None
        response = stored.response
        if response.fingerprint != self._fingerprint:
            raise Invalid(
                "Idempotency-Key is already used for another request",
                kind="idempotency_key_reused",
                hint="Use a new key for each request, and the same key to repeat it.",
            )
        return Response(
            response.status,
            response.body,
            content_type=response.content_type,
            headers=[(REPLAYED, "true")],
        )

    def recording(self, result: Callable[[T], object]) -> RecordedChange[T]:
        """Returns what records the response in the write of a change. `result` converts the result
        of the change to that of the handler.
        """
        return RecordedChange(self, result)

    def response_writes(self, result: object) -> ExtraWrites:
        """Returns the writes that record the response to a request with a result. Raises Conflict
        if an equal request was executed first.
        """
        self._attempts += 1
        if self._attempts > 1 and self.recorded() is not None:
            raise Conflict("an equal request came first", kind="already_carried_out")
        response = self._to_response(result)
        recorded = RecordedResponse(
            fingerprint=self._fingerprint,
            time=0,
            status=response.status,
            content_type=response.content_type,
            body=response.body,
        )
        return self._keys.recording(self._principal, self._key, recorded, self._expired)


class RecordedChange(msgspec.Struct, Generic[T], frozen=True):
    """A change whose response is recorded in the same write."""

    request: RepeatedRequest
    result: Callable[[T], object]

    def writes_for(self, change: T, /) -> ExtraWrites:
        """Returns the writes for the result of the change. Raises Conflict if an equal request was
        executed first.
        """
        return self.request.response_writes(self.result(change))


def run_once(repetition: RepeatedRequest, handler: Callable[[], Any]) -> Any:
    """Returns the result of `handler`, or the recorded response if an equal request was executed
    before or at the same time.

    Raises the errors of the handler. Nothing was changed then, unless it is OutcomeUnknown.
    """
    response = repetition.recorded()
    if response is not None:
        return response
    try:
        return handler()
    except AnabranchError as error:
        # an equal request may have been faster, or the outcome of this one is known by now
        response = _recorded_after(repetition, error)
        if response is not None:
            return response
        if isinstance(error, OutcomeUnknown):
            raise Busy(
                "the connection to the database was lost, and nothing was changed",
                kind="connection_lost",
                hint="Repeat the request.",
            ) from error
        raise


def _recorded_after(repetition: RepeatedRequest, error: AnabranchError) -> Response | None:
    try:
        return repetition.recorded()
    except Busy:
        if isinstance(error, OutcomeUnknown):
            error.hint = _KEYED_HINT
        raise error from None
