"""Idempotency keys: the recorded responses to requests that clients may retry.

    partition          key                          value
    idempotency-keys   keys/DIGEST                  the response and the request's fingerprint
    idempotency-keys   times/EXPIRY/DIGEST          empty: an index by time of expiry

DIGEST is the digest of the principal and the key. A response is written in the same step as the
change itself, on condition that none is recorded: so of any number of equal requests, on any
servers, one makes the change, and the others find its response. There is no state "in progress"
that a crash could leave behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.recorded_response import RecordedResponse
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["LIFETIME_SECONDS", "IdempotencyKeys", "StoredResponse"]

LIFETIME_SECONDS = 24 * 3600

_PARTITION = "idempotency-keys"
_KEYS, _TIMES, _AFTER_TIMES = b"keys/", b"times/", b"times0"

_decoder = msgspec.json.Decoder(RecordedResponse)


class StoredResponse(NamedTuple):
    """A response with the record that it was read from, which compare-and-set compares."""

    response: RecordedResponse
    record: bytes


class IdempotencyKeys:
    """The recorded responses. `clock` returns seconds since 1970."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock

    def find(self, principal: str, key: str) -> StoredResponse | None:
        """Returns the response recorded for a principal's key, even an expired one; None without
        one.
        """
        raw = self._keyvalue.get(_PARTITION, _KEYS + _digest(principal, key))
        return None if raw is None else StoredResponse(_response(raw), raw)

    def is_valid(self, response: RecordedResponse) -> bool:
        """Returns whether a response has not expired."""
        return self._clock() < response.time + LIFETIME_SECONDS

    def recording(
        self,
        principal: str,
        key: str,
        response: RecordedResponse,
        expired: StoredResponse | None = None,
    ) -> ExtraWrites:
        """Returns the writes that record a response, on condition that none is recorded for the
        key, except for `expired`.
        """
        digest = _digest(principal, key)
        response = msgspec.structs.replace(response, time=int(self._clock()))
        writes = [
            Write(_PARTITION, _KEYS + digest, msgspec.json.encode(response)),
            Write(_PARTITION, _time_key(response.time, digest), b""),
        ]
        previous = None if expired is None else expired.record
        return writes, [Expect(_PARTITION, _KEYS + digest, previous)]

    def clean(self) -> int:
        """Removes expired responses and returns their number."""
        removed = 0
        end = b"%b%012d" % (_TIMES, int(self._clock()))
        for time_key, _ in list(self._keyvalue.scan(_PARTITION, _TIMES, min(end, _AFTER_TIMES))):
            key = _KEYS + time_key.rpartition(b"/")[2]
            raw = self._keyvalue.get(_PARTITION, key)
            writes, expect = [Write(_PARTITION, time_key, None)], []
            # the key may have been used again after it had expired
            if raw is not None and not self.is_valid(_response(raw)):
                writes.append(Write(_PARTITION, key, None))
                expect.append(Expect(_PARTITION, key, raw))
            if self._keyvalue.apply(writes, expect):
                removed += len(expect)
        return removed


def _digest(principal: str, key: str) -> bytes:
    # as JSON, so that different pairs have different bytes
    return hashlib.sha256(msgspec.json.encode([principal, key])).hexdigest().encode()


def _time_key(recorded: int, digest: bytes) -> bytes:
    return b"%b%012d/%b" % (_TIMES, recorded + LIFETIME_SECONDS, digest)


def _response(raw: bytes) -> RecordedResponse:
    try:
        return _decoder.decode(raw)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"the record of an idempotency key is damaged: {error}") from error
