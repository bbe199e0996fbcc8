"""Requests with an `Idempotency-Key`, which run once however often they are sent.

The response is recorded in the step that makes the change (`versioning/idempotency.py`); a request
that is repeated within a day gets that response. Keys belong to the user who sent them. A key that
is reused with another operation, other parameters or another body is an error. The header is that
of the IETF draft "The Idempotency-Key HTTP Header Field"; quotes around its value are optional.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeVar

from anabranch.errors import AnabranchError, Busy, Conflict, Invalid, OutcomeUnknown
from anabranch.http.response import Response
from anabranch.model.recorded_response import RecordedResponse
from anabranch.rest.protocol.responses import encode
from anabranch.versioning.idempotency import IdempotencyKeys, StoredResponse
from anabranch.versioning.staging.extra_writes import ExtraWrites, ExtraWritesFor

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
    found = _KEY.fullmatch(header.strip(" \t"))
    if found is None:
        raise Invalid(
            "Idempotency-Key is not valid",
            kind="invalid_idempotency_key",
            hint="Use 1 to 255 visible ASCII characters, for example a UUID.",
        )
    return _ESCAPED.sub(r"\1", found[1]) if found[1] is not None else found[2]


def fingerprint(operation: str, params: object, body: object) -> str:
    """Returns the digest of a request: equal for bodies with equal fields."""
    return hashlib.sha256(encode([operation, params, body])).hexdigest()


class RepeatedRequest:
    """One request with a key, which may be the repetition of another. `answer` makes a Response of
    what its handler returns.
    """

    def __init__(
        self,
        keys: IdempotencyKeys,
        principal: str,
        key: str,
        fingerprint: str,
        answer: Callable[[object], Response],
    ) -> None:
        self._keys = keys
        self._principal = principal
        self._key = key
        self._fingerprint = fingerprint
        self._answer = answer
        self._expired: StoredResponse | None = None
        self._attempts = 0

    def recorded(self) -> Response | None:
        """Returns the answer to the request that came first, None if there was none.

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
                hint="Use a new key for each request, and the same for its repetitions.",
            )
        return Response(
            response.status,
            response.body,
            content_type=response.content_type,
            headers=[(REPLAYED, "true")],
        )

    def extra_writes(self, result: Callable[[T], object]) -> ExtraWritesFor[T]:
        """Returns the writes that record the response in the step of the change. `result` converts
        the change to what the handler returns. They raise Conflict if an equal request came first.
        """

        def record(change: T) -> ExtraWrites:
            self._attempts += 1
            if self._attempts > 1 and self.recorded() is not None:
                raise Conflict("an equal request came first", kind="already_carried_out")
            answer = self._answer(result(change))
            response = RecordedResponse(
                fingerprint=self._fingerprint,
                time=0,
                status=answer.status,
                content_type=answer.content_type,
                body=answer.body,
            )
            return self._keys.recording(self._principal, self._key, response, self._expired)

        return record


def run_once(repetition: RepeatedRequest, handler: Callable[[], Any]) -> Any:
    """Returns what `handler` returns, or the recorded answer if an equal request has been carried
    out, before or meanwhile.

    Raises what the handler raises; nothing was changed then, except for OutcomeUnknown.
    """
    answer = repetition.recorded()
    if answer is not None:
        return answer
    try:
        return handler()
    except AnabranchError as error:
        # an equal request may have come first, or this one's outcome is known by now
        answer = _recorded_after(repetition, error)
        if answer is not None:
            return answer
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
