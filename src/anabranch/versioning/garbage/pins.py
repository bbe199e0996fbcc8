"""Pins: commits that must keep their objects while something is done with them.

A pin is written before a reference is made from a commit that may have expired, and for as long as
a long job reads one. Garbage collection counts pinned commits among those that are active, and
reads pins before branches and tags. See `sweeps` for the whole protocol.

A pin ends at a time by the clock of the process that wrote it. A collector takes it for ended only
CLOCK_SECONDS after that by its own clock, and removes its record before it leaves its commits out:
a renewal that finds the record proves that nothing was collected meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from anabranch.errors import Busy, Conflict
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.model.repository import Repository
from anabranch.versioning.garbage.sweeps import CLOCK_SECONDS, SweepRecords
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.staging.extra_writes import ExtraWrites, ExtraWritesFor

__all__ = ["MAX_PIN_SECONDS", "PIN_SECONDS", "Expired", "Pin", "Pins"]

PIN_SECONDS = 600
"""For so long a pin holds after it was written or renewed, unless said otherwise."""

MAX_PIN_SECONDS = 3600
"""The longest time for which a pin may be written or renewed."""

_PARTITION = "anabranch-pins"
_TRIES = 100
_REFERENCES = "/"
"""How the names begin of the pins that references leave behind; no user's name is empty."""

Expired = Callable[[Repository, str, float], bool]
"""Returns whether a commit of a repository has expired at a time, in seconds since 1970."""


class _Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pin as it is stored: commits, and until when it holds, in seconds since 1970; whether the
    commits of one that references share were active when it was written.
    """

    commits: list[str]
    until: int
    checked: bool = False


class Pin(msgspec.Struct, frozen=True):
    """A pin that is there: the key and the record that were written."""

    key: bytes
    record: bytes

    @property
    def unchanged(self) -> Expect:
        """The condition that the pin has held until a reference is made."""
        return Expect(_PARTITION, self.key, self.record)


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
        """Decides on references that are made from commits. While a sweep is under way each commit
        is pinned, for PIN_SECONDS at least: a reference that moves on, to another branch or tag,
        may be missed by two readings of references, but not its pin.

        Raises Conflict (kind commit_expired) for one that has expired, while a sweep is under way.
        """
        names, unchanged = self._sweeps.under_way()
        if not names:
            return (), (unchanged,)
        return (), [self._pin_reference(repository, commit_id) for commit_id in commit_ids]

    def admission(self, repository: Repository, *commit_ids: str) -> ExtraWritesFor[object]:
        """Returns what admits a change that refers to commits."""
        return lambda _: self.admit_commits(repository, commit_ids)

    def pin(
        self,
        repository: Repository,
        commit_ids: Sequence[str],
        *,
        name: str = "",
        seconds: int = PIN_SECONDS,
    ) -> Pin:
        """Pins commits for so many seconds and returns the pin: a new one, or the one of a name,
        whose commits are replaced and which never ends earlier than before.

        Raises Conflict (kind commit_expired) for a commit that is added and has expired, while a
        sweep is under way; then the pin is as it was.
        """
        pin = self.named(repository, name or self._identifiers.xid())
        before = self._keyvalue.get(_PARTITION, pin.key) if name else None
        for _ in range(_TRIES):
            old = None if before is None else msgspec.json.decode(before, type=_Record)
            held = () if old is None else old.commits
            until = max(self._until(seconds), 0 if old is None else old.until)
            added = [commit_id for commit_id in commit_ids if commit_id not in held]
            # while it is not known whether the new ones are active, the pin has both
            both = msgspec.json.encode(_Record([*held, *added], until))
            if not self._replace(pin.key, before, both):
                before = self._keyvalue.get(_PARTITION, pin.key)
                continue
            if added and self._sweeps.under_way()[0]:
                try:
                    self._require_active(repository, added)
                except Conflict:
                    self._replace(pin.key, both, before)
                    raise
            record = msgspec.json.encode(_Record(list(commit_ids), until))
            if record == both or self._replace(pin.key, both, record):
                return Pin(pin.key, record)
            before = self._keyvalue.get(_PARTITION, pin.key)
        raise Busy("the pin is being changed by many at once")

    def named(self, repository: Repository, name: str) -> Pin:
        """Returns a pin by its name, to be renewed or released."""
        return Pin(f"{repository.partition}/{name}".encode("utf-8", "surrogateescape"), b"")

    def renew(self, pin: Pin, seconds: int = PIN_SECONDS) -> Pin:
        """Renews a pin for so many seconds and returns it as it is then. It may be asked for again
        where it is not known whether it was done.

        Raises Conflict (kind pin_lost) if the pin was released or had ended: then its commits may
        have lost objects.
        """
        for _ in range(_TRIES):
            raw = self._keyvalue.get(_PARTITION, pin.key)
            if raw is None:
                raise Conflict(
                    "the pin of the commits was not renewed in time, or was released: garbage "
                    "collection may have removed objects",
                    kind="pin_lost",
                    hint="Run it again.",
                )
            stored = msgspec.json.decode(raw, type=_Record)
            until = max(stored.until, self._until(seconds))
            record = msgspec.json.encode(msgspec.structs.replace(stored, until=until))
            if self._replace(pin.key, raw, record):
                return Pin(pin.key, record)
        raise Busy("the pin is being changed by many at once")

    def release(self, pin: Pin) -> None:
        """Removes a pin, if it is there."""
        self._keyvalue.apply([Write(_PARTITION, pin.key, None)])

    def release_after_reference(self, pin: Pin) -> None:
        """Removes a pin of commits whose objects something else refers to by now; while a sweep is
        under way the pin stays and ends by itself, as in `admit_commits`.
        """
        if not self._sweeps.under_way()[0]:
            self.release(pin)

    def exists(self, pin: Pin) -> bool:
        """Returns whether a pin is there; it may have ended."""
        return self._keyvalue.get(_PARTITION, pin.key) is not None

    def count(self, repository: Repository, prefix: str, most: int) -> int:
        """Returns how many pins have names that begin so; it counts up to `most`."""
        start = self.named(repository, prefix).key
        found = self._keyvalue.scan(_PARTITION, start, upper_bound(start), limit=most)
        return sum(1 for _ in found)

    def commits(self, repository: Repository) -> set[str]:
        """Returns the commits of a repository that are pinned. Pins that have ended are removed
        before they are left out, so that who comes back after a long pause finds its pin gone.
        """
        prefix = f"{repository.partition}/".encode()
        found = self._keyvalue.scan(_PARTITION, prefix, upper_bound(prefix))
        return {commit_id for record in self._remaining(found) for commit_id in record.commits}

    def clean(self) -> None:
        """Removes the pins of all repositories that have ended."""
        for _ in self._remaining(self._keyvalue.scan(_PARTITION)):
            pass

    def _remaining(self, found: Iterable[tuple[bytes, bytes]]) -> Iterator[_Record]:
        """Yields the pins that hold, and removes the others."""
        now = self._clock() - CLOCK_SECONDS
        for key, raw in list(found):
            record = msgspec.json.decode(raw, type=_Record)
            if record.until > now or not self._replace(key, raw, None):
                yield record

    def _replace(self, key: bytes, before: bytes | None, after: bytes | None) -> bool:
        """Replaces a record, or removes it; returns whether it was as before."""
        write = Write(_PARTITION, key, after)
        return self._keyvalue.apply([write], [Expect(_PARTITION, key, before)])

    def _until(self, seconds: int) -> int:
        return int(self._clock()) + seconds

    def _pin_reference(self, repository: Repository, commit_id: str) -> Expect:
        """Pins a commit for references and returns the condition that it is. All references share
        the pin, which is renewed when half of its time is over. Once it is checked, the commit was
        active when it was pinned, and has lost nothing since.
        """
        key = self.named(repository, f"{_REFERENCES}{commit_id}").key
        for _ in range(_TRIES):
            raw = self._keyvalue.get(_PARTITION, key)
            pinned = None if raw is None else msgspec.json.decode(raw, type=_Record)
            if pinned is None or not pinned.checked or pinned.until < self._until(PIN_SECONDS):
                checked = pinned is not None and pinned.checked
                pinned = _Record([commit_id], self._until(2 * PIN_SECONDS), checked)
                before, raw = raw, msgspec.json.encode(pinned)
                if not self._replace(key, before, raw):
                    continue
            if not pinned.checked:
                try:
                    self._require_active(repository, [commit_id])
                except Conflict:
                    self._replace(key, raw, None)
                    raise
                before, raw = (
                    raw,
                    msgspec.json.encode(msgspec.structs.replace(pinned, checked=True)),
                )
                if not self._replace(key, before, raw):
                    continue
            return Expect(_PARTITION, key, raw)
        raise Busy("the pin is being changed by many at once")

    def _require_active(self, repository: Repository, commit_ids: Sequence[str]) -> None:
        # by a clock that is ahead of every collector's: what that has let go has expired here
        now = self._clock() + 2 * CLOCK_SECONDS
        for commit_id in commit_ids:
            if self._expired(repository, commit_id, now):
                raise Conflict(
                    f"commit {commit_id} has expired, and garbage collection is removing objects",
                    kind="commit_expired",
                    hint="Nothing refers to the commit any more, so its objects may be gone. Try "
                    "again when the collection is over, and read what you need from it.",
                )
