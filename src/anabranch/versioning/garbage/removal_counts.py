"""Counts of removals: of the sweeps that remove an object at the same time, one counts it.

Stores do not say which objects a removal has found. A sweep knows that what it has listed exists as
long as no other sweep of the storage namespace runs. Otherwise it proceeds as follows, after it has
written the tombstones of its round:

1. It looks up which of the objects exist, and removes these.
2. It counts an object if its own tombstone is unmarked, and in the same transaction marks the
   tombstones that other running sweeps have for the object.

If two sweeps have found an object, both had tombstones before the first of them removed it, so the
one that counts first marks the tombstone of the other. A sweep whose tombstone does not exist yet
looks the object up later, and does not find it. An object counts after its removal, so nothing
waits for a sweep that was killed: the next one counts what that one has left.

Whether other sweeps have run since a listing began is in a record of each storage namespace: the
number of sweeps that have begun there, and the ids of those that have not ended. A sweep is in the
record of `versioning.garbage.sweeps`, which has its lease, for longer than in this one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from anabranch.errors import Busy
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.versioning.garbage.sweeps import SweepRecords

__all__ = ["NamespaceSweeps", "RemovalCounts"]

_PARTITION = "anabranch-sweep-namespaces"
_MAX_ATTEMPTS = 100


class NamespaceSweeps(NamedTuple):
    """The sweeps of a storage namespace: how many have begun, and how many of them are running, or
    were killed and have a lease that has not expired.
    """

    begun: int
    running: int


class _Record(msgspec.Struct, frozen=True):
    """The sweeps of a namespace: how many have begun, and the ids of those that have not ended."""

    begun: int = 0
    ids: tuple[str, ...] = ()


_DECODER = msgspec.json.Decoder(_Record)


class RemovalCounts:
    """The counts of the sweeps whose records are in `sweeps`. Storage namespaces are those of
    repositories.
    """

    def __init__(self, keyvalue: KeyValueStore, sweeps: SweepRecords) -> None:
        self._keyvalue = keyvalue
        self._sweeps = sweeps

    def sweeps_of(self, namespace: str) -> NamespaceSweeps:
        """Returns the sweeps of a storage namespace."""
        _, record = self._read(namespace)
        running = set(self._sweeps.running()[0] if record.ids else ())
        return NamespaceSweeps(record.begun, len(running.intersection(record.ids)))

    def begin(self, namespace: str, sweep: str) -> None:
        """Registers a sweep, before it writes its first tombstone. Raises what
        `SweepRecords.begin` raises.
        """
        self._sweeps.begin(sweep)
        running = self._sweeps.running()[0]

        def begun(record: _Record) -> _Record:
            others = (name for name in record.ids if name in running and name != sweep)
            return _Record(record.begun + 1, (*others, sweep))

        try:
            self._change(namespace, begun)
        except BaseException:
            self._sweeps.end(sweep)
            raise

    def end(self, namespace: str, sweep: str) -> None:
        """Removes a sweep and its tombstones, after its last removal."""

        def ended(record: _Record) -> _Record:
            return _Record(record.begun, tuple(name for name in record.ids if name != sweep))

        self._change(namespace, ended)
        self._sweeps.end(sweep)

    def _read(self, namespace: str) -> tuple[bytes | None, _Record]:
        stored = self._keyvalue.get(_PARTITION, _key(namespace))
        return stored, _Record() if stored is None else _DECODER.decode(stored)

    def _change(self, namespace: str, change: Callable[[_Record], _Record]) -> None:
        """Replaces the record of a namespace by compare-and-set."""
        key = _key(namespace)
        for _ in range(_MAX_ATTEMPTS):
            stored, record = self._read(namespace)
            write = Write(_PARTITION, key, msgspec.json.encode(change(record)))
            if self._keyvalue.apply([write], [Expect(_PARTITION, key, stored)]):
                return
        raise Busy("too many processes are changing the record of a namespace's sweeps")


def _key(namespace: str) -> bytes:
    return namespace.rstrip("/").encode("utf-8", "surrogateescape")
