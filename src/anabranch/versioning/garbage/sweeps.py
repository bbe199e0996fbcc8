"""Sweeps under way: what keeps garbage collection from removing what is being referenced anew.

An object that nothing refers to may be referred to again: by its address, or by an old commit.
Three kinds of records keep such a reference and a removal apart, whichever processes they happen
in:

    sweeps      one record: the sweeps that are under way, each until when it may remove anything,
                how many have begun, and how often the record has changed
    tombstones  a partition for each sweep: the addresses that it is about to remove
    pins        the commits from which a reference is being made, or which a long job reads

A sweep enters the record of sweeps, then takes its candidates in rounds: it writes their
tombstones, and only then reads once more what refers to anything, pins before all else. What it
still finds dead it removes.

- A reference **to an address** is made on condition that no sweep has a tombstone for it and that
  no other sweep has begun. Either it is there before the tombstone, and the reading that follows
  finds it; or it is refused. Tombstones are removed only after the record of sweeps has changed:
  the condition fails where a whole sweep or a whole round fits before the reference.
- A reference **to commits** is made on condition that no sweep is under way. During one, the
  commits are pinned first, and then must not have expired: what has not expired now had not when
  the sweep read it, and a reading that comes later finds the pin. The pin outlives the reference:
  one that moves in step with the readings is missed by them, and its pins are not.

A killed process leaves records that end by themselves: a sweep after LEASE_SECONDS, a pin after
MAX_PIN_SECONDS at the latest. Clocks may differ by CLOCK_SECONDS.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from anabranch.errors import Busy, Conflict
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["CLOCK_SECONDS", "LEASE_SECONDS", "REMOVAL_SECONDS", "SweepRecords"]

CLOCK_SECONDS = 3600
"""So far apart may the clocks of servers and collectors be."""

REMOVAL_SECONDS = 3 * 3600
"""Within so long a request to the store to remove something takes effect, or not at all."""

LEASE_SECONDS = REMOVAL_SECONDS + 1800
"""For so long after it was last renewed a sweep is taken to be under way: until what its round has
asked of the store at the last moment, ten minutes later and with retries, has taken effect.
"""

_PARTITION = "anabranch-sweeps"
_SWEEPS = b"sweeps"
_TRIES = 100
_BATCH = 1000
_BEGUN = ""
"""The name in the record of sweeps that says how many have begun."""
_CHANGES = "#"
"""The name in the record of sweeps that says how often it has changed, so that no two are equal."""
_KEEPER = "keeper/"
"""How the names begin of those in the record of sweeps that let none begin."""
_KEEPER_SECONDS = 600
_CLOSED = 0
"""The lease of a sweep that has ended and may still have tombstones."""
_WAITS = 50
_WAIT_SECONDS = 0.2

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(dict[str, int]).decode


class _Sweeps(NamedTuple):
    """The sweeps that are under way, by id, with the record as it was read."""

    record: bytes | None
    until: Mapping[str, int]
    begun: int
    changes: int

    @property
    def unchanged(self) -> Expect:
        """The condition that no sweep and no round has begun since, not even one that has ended."""
        return Expect(_PARTITION, _SWEEPS, self.record)


class SweepRecords:
    """The records of sweeps and their tombstones. `clock` gives seconds since 1970."""

    def __init__(self, keyvalue: KeyValueStore, clock: Callable[[], float]) -> None:
        self._keyvalue = keyvalue
        self._clock = clock

    # what makes references

    def under_way(self) -> tuple[list[str], Expect]:
        """Returns the ids of the sweeps that are under way, and the condition that these are all
        of them.
        """
        sweeps = self._read()
        return [name for name in sweeps.until if self._sweeps(name, sweeps)], sweeps.unchanged

    def begun(self) -> int:
        """Returns how many sweeps have begun: another number later says that one has since."""
        return self._read().begun

    def admit_addresses(self, addresses: Sequence[str]) -> ExtraWrites:
        """Decides on references to blocks, by their full addresses as the store keeps them.

        Raises Conflict (kind being_removed) for one that a sweep is about to remove.
        """
        names, unchanged = self.under_way()
        expect = [unchanged]
        for name in names:
            keys = [address.encode("utf-8", "surrogateescape") for address in addresses]
            for address, mark in zip(
                addresses, self._keyvalue.get_many(_tombstones(name), keys), strict=True
            ):
                if mark is not None:
                    raise Conflict(
                        f"{address}: garbage collection is removing this object",
                        kind="being_removed",
                        hint="Nothing referred to it for longer than the restore window. Upload "
                        "the object again.",
                    )
            expect += [Expect(_tombstones(name), key, None) for key in keys]
        return (), expect

    @contextmanager
    def excluded(self, name: str) -> Iterator[None]:
        """Lets no sweep begin while it is entered. Raises Conflict (kind sweep_under_way) if one is
        under way.
        """
        keeper = _KEEPER + name

        def entered(until: Mapping[str, int]) -> Mapping[str, int]:
            if any(not other.startswith(_KEEPER) for other in until):
                raise Conflict(
                    "garbage collection is removing objects by the rules that are there",
                    kind="sweep_under_way",
                    hint="Try again when it is over.",
                )
            return {**until, keeper: int(self._clock()) + _KEEPER_SECONDS}

        self._change(entered)
        try:
            yield
        finally:
            self._change(lambda until: _without(until, keeper))

    # what sweeps

    def begin(self, sweep: str) -> None:
        """Enters a sweep. Raises Busy if sweeps are kept out for long, or others keep changing the
        record.
        """

        def entered(until: Mapping[str, int]) -> Mapping[str, int]:
            if any(name.startswith(_KEEPER) for name in until):
                raise Busy("the rules of garbage collection are being changed", kind="kept_out")
            return {**until, sweep: self._lease()}

        for attempt in range(_WAITS):
            try:
                self._change(entered, begins=True)
            except Busy as error:
                if error.kind != "kept_out" or attempt == _WAITS - 1:
                    raise
                time.sleep(_WAIT_SECONDS)
            else:
                return

    def renew(self, sweep: str) -> None:
        """Renews a sweep's lease. Raises Conflict (kind sweep_expired) if it has lost it: then
        nothing more may be removed.
        """

        def renewed(until: Mapping[str, int]) -> Mapping[str, int]:
            if sweep not in until:
                raise Conflict(
                    "the sweep has not renewed its lease in time, and ends",
                    kind="sweep_expired",
                    hint="Run the collection again. Is this machine's clock right?",
                )
            return {**until, sweep: self._lease()}

        self._change(renewed)

    def end(self, sweep: str) -> None:
        """Removes a sweep and its tombstones."""
        self._change(lambda until: {**until, sweep: _CLOSED})
        self._change(lambda until: until)

    def condemn(self, sweep: str, addresses: Iterable[str]) -> None:
        """Writes tombstones of full addresses. Nothing refers to them from then on that the next
        reading of references does not find.
        """
        for batch in _batches(addresses):
            partition = _tombstones(sweep)
            self._keyvalue.apply([Write(partition, key, b"-") for key in batch])

    def spare(self, sweep: str) -> None:
        """Removes all tombstones of a sweep, once what they forbade is removed or will not be."""
        self._change(lambda until: until)
        self._keyvalue.drop(_tombstones(sweep))

    def _sweeps(self, name: str, sweeps: _Sweeps) -> bool:
        ended = sweeps.until[name] <= self._clock() - CLOCK_SECONDS
        return not ended and not name.startswith(_KEEPER)

    def _lease(self) -> int:
        return int(self._clock()) + LEASE_SECONDS

    def _read(self) -> _Sweeps:
        record = self._keyvalue.get(_PARTITION, _SWEEPS)
        until = _decode(record) if record else {}
        begun, changes = until.pop(_BEGUN, 0), until.pop(_CHANGES, 0)
        return _Sweeps(record, until, begun, changes)

    def _change(
        self,
        change: Callable[[Mapping[str, int]], Mapping[str, int]],
        *,
        begins: bool = False,
    ) -> None:
        """Replaces the record, without the sweeps whose leases have ended. Their tombstones are
        removed before: once a sweep is not in the record, nothing else finds them. They are closed
        before that, which fails the conditions of references that were admitted beside them.
        """
        for _ in range(_TRIES):
            sweeps = self._read()
            now = self._clock() - CLOCK_SECONDS
            ended = {name: until for name, until in sweeps.until.items() if until <= now}
            left = {name: until for name, until in sweeps.until.items() if until > now}
            if any(ended.values()):
                self._replace(sweeps, {**left, **dict.fromkeys(ended, _CLOSED)}, sweeps.begun)
                continue
            for name in ended:
                self._keyvalue.drop(_tombstones(name))
            if self._replace(sweeps, change(left), sweeps.begun + begins):
                return
        raise Busy("the record of sweeps is being changed by many at once")

    def _replace(self, sweeps: _Sweeps, until: Mapping[str, int], begun: int) -> bool:
        """Replaces the record; returns whether it was as it had been read."""
        record = {**until, _BEGUN: begun, _CHANGES: sweeps.changes + 1}
        write = Write(_PARTITION, _SWEEPS, _encode(record))
        return self._keyvalue.apply([write], [sweeps.unchanged])


def _without(until: Mapping[str, int], name: str) -> Mapping[str, int]:
    return {other: at for other, at in until.items() if other != name}


def _tombstones(sweep: str) -> str:
    return f"{_PARTITION}/{sweep}"


def _batches(addresses: Iterable[str]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    for address in addresses:
        batch.append(address.encode("utf-8", "surrogateescape"))
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
