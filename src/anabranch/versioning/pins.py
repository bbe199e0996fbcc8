"""Pins: commits that must keep their objects while something is done with them.

A pin is written before a reference is made from a commit that may have expired, and for as long as
a long job reads one. Garbage collection counts pinned commits among those that are active, and
reads pins before branches and tags. See `sweeps` for the whole protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from anabranch.errors import Conflict
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.model.repository import Repository
from anabranch.versioning.extra_writes import Beside, ExtraWrites
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.sweeps import CLOCK_SECONDS, SweepRecords

__all__ = ["PIN_SECONDS", "Expired", "Pin", "Pins"]

PIN_SECONDS = 600
"""For so long a pin holds after it was written or renewed."""

_PARTITION = "anabranch-pins"

Expired = Callable[[Repository, str, float], bool]
"""Returns whether a commit of a repository has expired at a time, in seconds since 1970."""


class _Record(msgspec.Struct, frozen=True):
    """A pin as it is stored: commits, and until when it holds, in seconds since 1970."""

    commits: list[str]
    until: int


class Pin(msgspec.Struct, frozen=True):
    """A pin that is there: the key and the record that were written."""

    key: bytes
    record: bytes

    @property
    def release(self) -> ExtraWrites:
        """The step's other writes and conditions: the pin ends as the reference is made, and must
        have held until then.
        """
        return (Write(_PARTITION, self.key, None),), (Expect(_PARTITION, self.key, self.record),)


class Pins:
    """The pins of all repositories. `clock` gives seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        sweeps: SweepRecords,
        identifiers: Identifiers,
        expired: Expired,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._sweeps = sweeps
        self._identifiers = identifiers
        self._expired = expired
        self._clock = clock

    def admit_commits(self, repository: Repository, commit_ids: Sequence[str]) -> ExtraWrites:
        """Decides on references that are made from commits.

        Raises Conflict (kind commit_expired) for one that has expired, while a sweep is under way.
        """
        names, unchanged = self._sweeps.under_way()
        if not names:
            return (), (unchanged,)
        return self.pin(repository, commit_ids).release

    def admission(self, repository: Repository, *commit_ids: str) -> Beside[object]:
        """Returns what admits a change that refers to commits."""
        return lambda _: self.admit_commits(repository, commit_ids)

    def pin(self, repository: Repository, commit_ids: Sequence[str]) -> Pin:
        """Pins commits and returns the pin. Raises Conflict (kind commit_expired) for one that has
        expired, while a sweep is under way.
        """
        key = f"{repository.partition}/{self._identifiers.xid()}".encode()
        record = _Record(list(commit_ids), self._until())
        pin = Pin(key, msgspec.json.encode(record))
        self._keyvalue.apply([Write(_PARTITION, key, pin.record)])
        if self._sweeps.under_way()[0]:
            self._require_active(repository, commit_ids, pin)
        return pin

    def renew(self, pin: Pin) -> Pin:
        """Renews a pin and returns it as it is then. Raises Conflict (kind pin_lost) if it had
        ended: then its commits may have lost objects.
        """
        record = msgspec.json.decode(pin.record, type=_Record)
        renewed = Pin(
            pin.key, msgspec.json.encode(msgspec.structs.replace(record, until=self._until()))
        )
        write = Write(_PARTITION, pin.key, renewed.record)
        if not self._keyvalue.apply([write], [Expect(_PARTITION, pin.key, pin.record)]):
            raise Conflict(
                "this took too long between two signs of life: objects may have been collected",
                kind="pin_lost",
                hint="Try again.",
            )
        return renewed

    def release(self, pin: Pin) -> None:
        """Removes a pin."""
        self._keyvalue.apply([Write(_PARTITION, pin.key, None)])

    @contextmanager
    def held(self, repository: Repository, commit_ids: Sequence[str]) -> Iterator[Pin]:
        """Holds a pin while it is entered, for work of less than PIN_SECONDS."""
        pin = self.pin(repository, commit_ids)
        try:
            yield pin
        finally:
            self.release(pin)

    def commits(self, repository: Repository) -> set[str]:
        """Returns the commits of a repository that are pinned. Pins that have ended are removed
        before they are left out, so that who comes back after a long pause finds its pin gone.
        """
        pinned: set[str] = set()
        prefix = f"{repository.partition}/".encode()
        now = self._clock() - CLOCK_SECONDS
        for key, raw in list(self._keyvalue.scan(_PARTITION, prefix, upper_bound(prefix))):
            record = msgspec.json.decode(raw, type=_Record)
            ended = record.until <= now and self._keyvalue.apply(
                [Write(_PARTITION, key, None)], [Expect(_PARTITION, key, raw)]
            )
            if not ended:
                pinned.update(record.commits)
        return pinned

    def _until(self) -> int:
        return int(self._clock()) + PIN_SECONDS

    def _require_active(self, repository: Repository, commit_ids: Sequence[str], pin: Pin) -> None:
        # by a clock that is ahead of every collector's: what that has let go has expired here
        now = self._clock() + 2 * CLOCK_SECONDS
        for commit_id in commit_ids:
            if self._expired(repository, commit_id, now):
                self.release(pin)
                raise Conflict(
                    f"commit {commit_id} has expired, and garbage collection is removing objects",
                    kind="commit_expired",
                    hint="Nothing refers to the commit any more, so its objects may be gone. Try "
                    "again when the collection is over, and read what you need from it.",
                )
