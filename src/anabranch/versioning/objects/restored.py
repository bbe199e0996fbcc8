"""Restored objects: addresses that garbage collection keeps for a time even without a reference.

A restored object has no reference yet and keeps its age, so the next sweep would remove it. Its
address is therefore recorded before it is restored, on condition that no sweep has a tombstone for
it (see `sweeps`); garbage collection reads these records as it reads references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from anabranch.errors import Busy
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, SweepRecords

__all__ = ["RestoredObjects"]

_PARTITION = "anabranch-restored"
_MAX_ATTEMPTS = 100
_BATCH_SIZE = 100


class RestoredObjects:
    """The records of restored objects. `clock` returns seconds since 1970."""

    def __init__(
        self, keyvalue: KeyValueStore, sweeps: SweepRecords, clock: Callable[[], float]
    ) -> None:
        self._keyvalue = keyvalue
        self._sweeps = sweeps
        self._clock = clock

    def keep(self, owner: str, addresses: Sequence[str], seconds: float) -> None:
        """Protects full addresses from removal for the next `seconds`, on behalf of an owner, a
        name without a slash. Raises Conflict (kind being_removed) for an address that a sweep is
        about to remove; addresses before it may be protected then. Raises Busy when sweeps begin
        and end continuously.
        """
        until = b"%d" % int(self._clock() + seconds)
        for batch in _batches(addresses):
            writes = [Write(_PARTITION, _key(owner, address), until) for address in batch]
            for _ in range(_MAX_ATTEMPTS):
                _, expect = self._sweeps.admit_addresses(batch)
                if self._keyvalue.apply(writes, expect):
                    break
            else:
                raise Busy("the record of sweeps is changed by too many requests at once")

    def release(self, owner: str, addresses: Sequence[str]) -> None:
        """Removes an owner's records of addresses, not those of other owners."""
        for batch in _batches(addresses):
            writes = [Write(_PARTITION, _key(owner, address), None) for address in batch]
            self._keyvalue.apply(writes)

    def addresses(self) -> Iterator[str]:
        """Yields the protected full addresses, and removes expired records."""
        now = self._clock() - CLOCK_SKEW_SECONDS
        for key, record in list(self._keyvalue.scan(_PARTITION)):
            removed = int(record) <= now and self._keyvalue.apply(
                [Write(_PARTITION, key, None)], [Expect(_PARTITION, key, record)]
            )
            if not removed:
                yield key.partition(b"/")[2].decode("utf-8", "surrogateescape")


def _key(owner: str, address: str) -> bytes:
    return f"{owner}/{address}".encode("utf-8", "surrogateescape")


def _batches(addresses: Sequence[str]) -> Iterator[Sequence[str]]:
    starts = range(0, len(addresses), _BATCH_SIZE)
    return (addresses[start : start + _BATCH_SIZE] for start in starts)
