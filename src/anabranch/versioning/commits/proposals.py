"""Proposals: commits that can be read before a branch moves to them.

Hooks examine what a commit or merge would make. Its commit is stored here, not among the commits:
it can be read by its id, but no listing has it, no reference can be created from it, and it is
gone when the branch has moved or the change was refused. Its objects are kept meanwhile: garbage
collection counts proposals among the commits, and a pin makes them active.

A proposal that a killed process has left expires with its pin.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import KeyValueStore, Write
from anabranch.model.commits.commit import Commit
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.garbage.pins import Pin, Pins
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.records.keys import PROPOSALS, proposal
from anabranch.versioning.records.proposal_records import expiry_of, proposal_bytes

__all__ = ["MAX_EXAMINATION_SECONDS", "Proposal", "Proposals"]

MAX_EXAMINATION_SECONDS = 3_000
"""How long a proposal may be examined: less than a pin can last."""

_PIN_SECONDS = MAX_EXAMINATION_SECONDS + 300


class Proposal(NamedTuple):
    """A stored proposal: its key, and the pin of its objects."""

    key: bytes
    pin: Pin


class Proposals:
    """Stores and removes proposals. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        identifiers: Identifiers,
        pins: Pins,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._identifiers = identifiers
        self._pins = pins
        self._clock = clock

    def store(self, repository: Repository, commit: Commit) -> Proposal:
        """Stores a proposal for MAX_EXAMINATION_SECONDS at most."""
        name = self._identifiers.xid()
        key = proposal(repository.partition, commit.id, name)
        # pinned first, and the pin removed last: while it can be read, its objects are kept
        pin = self._pins.hold(repository, commit.id, name=name, seconds=_PIN_SECONDS)
        record = proposal_bytes(commit, int(self._clock()) + _PIN_SECONDS)
        self._keyvalue.apply([Write(PROPOSALS, key, record)])
        return Proposal(key, pin)

    def remove(self, stored: Proposal) -> None:
        """Removes a proposal; one that cannot be removed now expires."""
        with suppress(AnabranchError):
            self._keyvalue.apply([Write(PROPOSALS, stored.key, None)])
            self._pins.release_after_reference(stored.pin)

    def clean(self) -> None:
        """Removes expired proposals."""
        now = self._clock()
        for key, raw in list(self._keyvalue.scan(PROPOSALS)):
            if expiry_of(raw) < now:
                self._keyvalue.apply([Write(PROPOSALS, key, None)])
