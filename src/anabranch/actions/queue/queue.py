"""The queue of events whose hooks run after a change.

    anabranch-post-hooks    (xid)    Queued, as JSON

An event is queued in the transaction that makes the change, and removed in the one that stores its
run. So it is never lost, and its hooks run at least once: if a server dies while they run, another
runs them again, as another run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import msgspec

from anabranch.actions.runs.event import Event
from anabranch.actions.runs.running import Running, RunningRuns
from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.versioning.identifiers import Identifiers

__all__ = ["QUEUED_DECODER", "Claim", "Queue", "Queued"]

_log = logging.getLogger(__name__)

_PARTITION = "anabranch-post-hooks"
_MAX_ATTEMPTS = 5


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """An event in the queue. Its action files are read at the commits `places`. `partition` is that
    of the repository, which another one of its name does not have. `run_id` is the latest run of
    its hooks, empty before the first. `trace` has the headers that continue the trace of the
    request that has made the change (W3C Trace Context).
    """

    event: Event
    partition: str
    places: tuple[str, ...]
    run_id: str = ""
    attempts: int = 0
    trace: Mapping[str, str] = {}


QUEUED_DECODER = msgspec.json.Decoder(Queued)


class Claim(msgspec.Struct, frozen=True):
    """A queued event that this process runs the hooks of: its key and its record."""

    key: bytes
    queued: Queued
    raw: bytes


class Queue:
    """The queue of all servers."""

    def __init__(
        self, keyvalue: KeyValueStore, identifiers: Identifiers, running: RunningRuns
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._running = running

    def add(self, queued: Queued) -> Write:
        """Returns the write that adds an event."""
        key = self._identifiers.xid()
        event = msgspec.structs.replace(queued.event, id=key)
        record = msgspec.json.encode(msgspec.structs.replace(queued, event=event))
        return Write(_PARTITION, key.encode(), record)

    def waiting(self) -> Iterator[tuple[bytes, bytes]]:
        """Yields the keys and records of the events whose hooks no living server runs, the oldest
        first.
        """
        for key, raw in self._keyvalue.scan(_PARTITION):
            run_id = QUEUED_DECODER.decode(raw).run_id
            try:
                taken = bool(run_id) and self._running.lives(run_id)
            except AnabranchError as error:  # of the store of one repository
                _log.warning("run %s: %s", run_id, error.message)
                continue
            if not taken:
                yield key, raw

    def claim(self, key: bytes, raw: bytes, begin: Running) -> Claim | None:
        """Claims an event for the run `begin`, whose record is stored with the claim; returns None
        if another server has it, or if it was tried too often, in which case it is removed.
        """
        queued = QUEUED_DECODER.decode(raw)
        if queued.run_id and self._running.lives(queued.run_id):
            return None
        if queued.attempts >= _MAX_ATTEMPTS:
            _log.warning(
                "%s of %s is not tried again: %d servers have died while its hooks ran",
                *(queued.event.type, queued.event.repository, queued.attempts),
            )
            self._keyvalue.apply([Write(_PARTITION, key, None)], [Expect(_PARTITION, key, raw)])
            return None
        claimed = msgspec.structs.replace(queued, run_id=begin.run.id, attempts=queued.attempts + 1)
        record = msgspec.json.encode(claimed)
        writes = [Write(_PARTITION, key, record), self._running.begin(begin)]
        with self._running.abandoned_on_error(begin.run.id):
            if self._keyvalue.apply(writes, [Expect(_PARTITION, key, raw)]):
                return Claim(key, claimed, record)
        self._running.end(begin.run.id)  # nothing was written: only this process forgets the run
        return None

    def drop(self, key: bytes, raw: bytes) -> bool:
        """Removes an event without a run, if it is unchanged; returns whether it was."""
        return self._keyvalue.apply([Write(_PARTITION, key, None)], [Expect(_PARTITION, key, raw)])

    def holds(self, claim: Claim) -> bool:
        """Returns whether no other server has claimed or removed an event meanwhile."""
        return self._keyvalue.get(_PARTITION, claim.key) == claim.raw

    def finish(self, claim: Claim, writes: list[Write]) -> bool:
        """Removes an event with the writes that store its run; returns False, and makes none of
        them, if another server has claimed it meanwhile.
        """
        ended = [Write(_PARTITION, claim.key, None), self._running.end(claim.queued.run_id)]
        return self._keyvalue.apply([*ended, *writes], [Expect(_PARTITION, claim.key, claim.raw)])
