"""Idempotency keys: the responses to requests that clients may repeat.

    partition          key                          value
    idempotency-keys   keys/DIGEST                  the response and the request's fingerprint
    idempotency-keys   times/EXPIRY/DIGEST          nothing: it is there to be found when it expires

DIGEST is that of the principal and the key. A response is written in the step that makes the change
itself, on condition that there is none: so of any number of equal requests, on any servers, one
makes the change, and the others find its response. There is no state "in progress" that a crash
could leave behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from anabranch.errors import Corrupt
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.recorded_response import RecordedResponse
from anabranch.versioning.extra_writes import ExtraWrites

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
    """The responses that are kept. `clock` gives seconds since 1970."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock

    def find(self, principal: str, key: str) -> StoredResponse | None:
        """Returns what is kept for a principal's key, also when it has expired; None without."""
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
        """Returns the writes that keep a response from now on, on condition that none is kept for
        the key but the one that has `expired`.
        """
        digest = _digest(principal, key)
        response = msgspec.structs.replace(response, time=int(self._clock()))
        writes = [
            Write(_PARTITION, _KEYS + digest, msgspec.json.encode(response)),
            Write(_PARTITION, _time_key(response.time, digest), b""),
        ]
        before = None if expired is None else expired.record
        return writes, [Expect(_PARTITION, _KEYS + digest, before)]

    def clean(self) -> int:
        """Removes what has expired; returns how many responses that were."""
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
    # a text of JSON, so that no two pairs give the same bytes
    return hashlib.sha256(msgspec.json.encode([principal, key])).hexdigest().encode()


def _time_key(recorded: int, digest: bytes) -> bytes:
    return b"%b%012d/%b" % (_TIMES, recorded + LIFETIME_SECONDS, digest)


def _response(raw: bytes) -> RecordedResponse:
    try:
        return _decoder.decode(raw)
    except msgspec.MsgspecError as error:
        raise Corrupt(f"the record of an idempotency key is damaged: {error}") from error
