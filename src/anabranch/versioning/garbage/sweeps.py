"""Records of running sweeps. They prevent garbage collection from removing an object while a new
reference to it is created.

An unreferenced object can be referenced again: by its address, or through an old commit. Three
kinds of records exclude such a reference and a removal from each other, across processes:

    sweeps      one record: the running sweeps with the expiry of each lease, the number of sweeps
                that have begun, and a number that increases with every change of the record
    tombstones  a partition for each sweep: the addresses that it is about to remove
    pins        commits that a new reference is created from, or that a long job reads

A sweep registers itself in the record of sweeps and processes its candidates in rounds. In each
round it writes their tombstones, then reads all references again, pins first, and then removes the
candidates that are still unreachable.

- A reference **to an address** is written on condition that no sweep has a tombstone for it and
  that no other sweep has begun. Either it is written before the tombstone, and the following pass
  over the references finds it, or it is rejected. Tombstones are removed only after the record of
  sweeps has changed, so the condition also fails if a whole sweep or a whole round took place
  between the check and the write.
- A reference **to commits** is written on condition that no sweep is running. If one is, the
  commits are pinned first and then must be active: a commit that is active now was active when the
  sweep read it, and a later pass finds the pin. The pin outlives the reference, because a reference
  that moves in step with the passes is missed by them, whereas its pins are not.

The records of a killed process expire: a sweep after LEASE_SECONDS, a pin after MAX_PIN_SECONDS at
the latest. Clocks may differ by CLOCK_SKEW_SECONDS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple

import msgspec

from anabranch.errors import Busy, Conflict
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = [
    "CLOCK_SKEW_SECONDS",
    "LEASE_SECONDS",
    "MAX_REMOVAL_SECONDS",
    "NONE_BEGUN",
    "AdmitAddress",
    "SweepRecords",
]

CLOCK_SKEW_SECONDS = 3600
"""The largest difference between the clocks of servers and collectors that is tolerated."""

MAX_REMOVAL_SECONDS = 3 * 3600
"""The time after which a request to the store to remove an object has no effect any more."""

LEASE_SECONDS = MAX_REMOVAL_SECONDS + 1800
"""The duration of a sweep's lease from its last renewal. It covers the last removals of a round,
which may be requested ten minutes after the renewal, with their retries.
"""

_PARTITION = "anabranch-sweeps"
_RECORD_KEY = b"sweeps"
NONE_BEGUN = Expect(_PARTITION, _RECORD_KEY, None)
"""The condition that no sweep has begun so far."""

_MAX_ATTEMPTS = 100
_BATCH = 1000
_BEGUN_KEY = ""
"""The key in the record of sweeps of the number of sweeps that have begun."""
_CHANGES_KEY = "#"
"""The key in the record of sweeps of the number of its changes, which makes each version unique."""
_BLOCKER = "keeper/"
"""Prefix of the keys in the record of sweeps that prevent sweeps from beginning."""
_BLOCKER_SECONDS = 600
_CLOSED = 0
"""The lease of an ended sweep whose tombstones may still exist."""
_UNMARKED, _MARKED = b"-", b"+"
"""The values of tombstones. A marked one is of an object that another sweep counts as removed."""
_MAX_WAITS = 50
_WAIT_SECONDS = 0.2

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(dict[str, int]).decode


class _Sweeps(NamedTuple):
    """The record of sweeps: the raw bytes that were read, the expiry of each lease by the sweep's
    id, and the two counters.
    """

    record: bytes | None
    until: Mapping[str, int]
    begun: int
    changes: int

    @property
    def unchanged(self) -> Expect:
        """The condition that no sweep and no round has begun since, including ended ones."""
        return Expect(_PARTITION, _RECORD_KEY, self.record)


class SweepRecords:
    """The records of sweeps and their tombstones. `clock` returns seconds since 1970."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock

    # for changes that create references

    def running(self) -> tuple[list[str], Expect]:
        """Returns the ids of the running sweeps, and the condition that no other has begun."""
        sweeps = self._read()
        return [name for name in sweeps.until if self._is_running(name, sweeps)], sweeps.unchanged

    def begun_count(self) -> int:
        """Returns the number of sweeps that have begun so far."""
        return self._read().begun

    def ended_count(self) -> int:
        """Returns the number of sweeps that have begun and ended so far. Any later `begun_count` is
        greater if a sweep is under way now, or has begun since.
        """
        sweeps = self._read()
        under_way = [name for name in sweeps.until if not name.startswith(_BLOCKER)]
        return sweeps.begun - len(under_way)

    def admit_addresses(self, addresses: Sequence[str]) -> ExtraWrites:
        """Returns the conditions for creating references to blocks, by their full addresses in the
        store's form.

        Raises Conflict (kind being_removed) for a block that a sweep is about to remove.
        """
        sweep_ids, unchanged = self.running()
        expect = [unchanged]
        for sweep in sweep_ids:
            keys = [_key(address) for address in addresses]
            for address, tombstone in zip(
                addresses, self._keyvalue.get_many(_tombstones(sweep), keys), strict=True
            ):
                if tombstone is not None:
                    raise Conflict(
                        f"{address}: garbage collection is removing this object",
                        kind="being_removed",
                        hint="Nothing referred to it for longer than the restore window. Upload "
                        "the object again.",
                    )
            expect += [Expect(_tombstones(sweep), key, None) for key in keys]
        return (), expect

    @contextmanager
    def block_sweeps(self, name: str) -> Iterator[None]:
        """Prevents sweeps from beginning while the context is entered. Raises Conflict (kind
        sweep_under_way) if one is running.
        """
        blocker = _BLOCKER + name

        def block(until: Mapping[str, int]) -> Mapping[str, int]:
            if any(not other.startswith(_BLOCKER) for other in until):
                raise Conflict(
                    "garbage collection is removing objects by the current rules",
                    kind="sweep_under_way",
                    hint="Try again when it is over.",
                )
            return {**until, blocker: int(self._clock()) + _BLOCKER_SECONDS}

        self._change(block)
        try:
            yield
        finally:
            self._change(
                lambda until: {other: at for other, at in until.items() if other != blocker}
            )

    # for collectors

    def begin(self, sweep: str) -> None:
        """Registers a sweep. Raises Busy if sweeps stay blocked, or if other processes keep
        changing the record.
        """

        def register(until: Mapping[str, int]) -> Mapping[str, int]:
            if any(name.startswith(_BLOCKER) for name in until):
                raise Busy("the rules of garbage collection are being changed", kind="kept_out")
            return {**until, sweep: self._lease()}

        for attempt in range(_MAX_WAITS):
            try:
                self._change(register, begins=True)
            except Busy as error:
                if error.kind != "kept_out" or attempt == _MAX_WAITS - 1:
                    raise
                time.sleep(_WAIT_SECONDS)
            else:
                return

    def renew(self, sweep: str) -> None:
        """Renews a sweep's lease. Raises Conflict (kind sweep_expired) if the lease has expired:
        the sweep must not remove anything more.
        """

        def renew(until: Mapping[str, int]) -> Mapping[str, int]:
            if sweep not in until:
                raise Conflict(
                    "the sweep has not renewed its lease in time, and ends",
                    kind="sweep_expired",
                    hint="Run the collection again. Is this machine's clock right?",
                )
            return {**until, sweep: self._lease()}

        self._change(renew)

    def end(self, sweep: str) -> None:
        """Removes a sweep and its tombstones."""
        self._change(lambda until: {**until, sweep: _CLOSED})
        self._change(lambda until: until)

    def add_tombstones(self, sweep: str, addresses: Iterable[str]) -> None:
        """Writes tombstones of full addresses. Every reference to them that exists afterwards is
        found by the next pass over the references.
        """
        partition, remaining = _tombstones(sweep), iter(addresses)
        while batch := list(islice(remaining, _BATCH)):
            self._keyvalue.apply([Write(partition, _key(each), _UNMARKED) for each in batch])

    def claim_tombstones(self, sweep: str, addresses: Sequence[str]) -> list[bool]:
        """Returns for each of the full addresses whether the sweep counts its object, which it has
        found and removed since it wrote the tombstone: whether that is unmarked. Marks the
        tombstones that other running sweeps have for those. `removal_counts` says why.
        """
        keys = [_key(address) for address in addresses]
        own = _tombstones(sweep)
        for _ in range(_MAX_ATTEMPTS):
            others = [_tombstones(name) for name in self.running()[0] if name != sweep]
            # others' first: one that is gone by now has marked the own one before
            found = [(other, self._keyvalue.get_many(other, keys)) for other in others]
            unmarked = [value == _UNMARKED for value in self._keyvalue.get_many(own, keys)]
            shared = [
                (other, key)
                for other, values in found
                for key, value, mine in zip(keys, values, unmarked, strict=True)
                if mine and value == _UNMARKED
            ]
            writes = [Write(other, key, _MARKED) for other, key in shared]
            expect = [Expect(other, key, _UNMARKED) for other, key in shared]
            expect += [Expect(own, key, _UNMARKED) for key in {key for _, key in shared}]
            if not writes or self._keyvalue.apply(writes, expect):
                return unmarked
        raise Busy("too many processes are changing the tombstones of sweeps")

    def remove_tombstones(self, sweep: str) -> None:
        """Removes all tombstones of a sweep, after their objects were removed or kept for good."""
        self._change(lambda until: until)
        self._keyvalue.drop(_tombstones(sweep))

    def _is_running(self, name: str, sweeps: _Sweeps) -> bool:
        expired = sweeps.until[name] <= self._clock() - CLOCK_SKEW_SECONDS
        return not expired and not name.startswith(_BLOCKER)

    def _lease(self) -> int:
        return int(self._clock()) + LEASE_SECONDS

    def _read(self) -> _Sweeps:
        record = self._keyvalue.get(_PARTITION, _RECORD_KEY)
        until = _decode(record) if record else {}
        begun, changes = until.pop(_BEGUN_KEY, 0), until.pop(_CHANGES_KEY, 0)
        return _Sweeps(record, until, begun, changes)

    def _change(
        self,
        change: Callable[[Mapping[str, int]], Mapping[str, int]],
        *,
        begins: bool = False,
    ) -> None:
        """Replaces the record, without the sweeps whose leases have expired. Their tombstones are
        removed first, because nothing finds the tombstones of a sweep that is not in the record.
        Before that the sweeps are marked as closed: this changes the record, so the conditions of
        references that were admitted while they ran fail.
        """
        for _ in range(_MAX_ATTEMPTS):
            sweeps = self._read()
            now = self._clock() - CLOCK_SKEW_SECONDS
            expired = {name: until for name, until in sweeps.until.items() if until <= now}
            current = {name: until for name, until in sweeps.until.items() if until > now}
            if any(expired.values()):
                self._replace(sweeps, {**current, **dict.fromkeys(expired, _CLOSED)}, sweeps.begun)
                continue
            for name in expired:
                self._keyvalue.drop(_tombstones(name))
            if self._replace(sweeps, change(current), sweeps.begun + begins):
                return
        raise Busy("too many processes are changing the record of sweeps")

    def _replace(self, sweeps: _Sweeps, until: Mapping[str, int], begun: int) -> bool:
        """Replaces the record if it is unchanged since it was read; returns whether it was."""
        record = {**until, _BEGUN_KEY: begun, _CHANGES_KEY: sweeps.changes + 1}
        write = Write(_PARTITION, _RECORD_KEY, _encode(record))
        return self._keyvalue.apply([write], [sweeps.unchanged])


def _tombstones(sweep: str) -> str:
    return f"{_PARTITION}/{sweep}"


def _key(address: str) -> bytes:
    return address.encode("utf-8", "surrogateescape")


class AdmitAddress(msgspec.Struct, frozen=True):
    """The conditions for a reference to a block, by its full address in the store's form."""

    sweeps: SweepRecords
    address: str

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns the conditions. Raises as `SweepRecords.admit_addresses` does."""
        return self.sweeps.admit_addresses([self.address])
