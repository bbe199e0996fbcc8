"""Pins: leases that keep the objects of commits while a reference is made or a job reads them.

A pin is written before a reference is created from a commit that may have expired, and is held
while a long job reads a commit. Garbage collection treats pinned commits as active, and reads pins
before branches and tags. `sweeps` describes the whole protocol.

A pin expires at a time by the clock of the process that wrote it. A collector considers it expired
only CLOCK_SKEW_SECONDS later by its own clock, and deletes its record before it treats its commits
as unpinned. A renewal that finds the record therefore proves that nothing was collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from anabranch.brevity import about_to_take_long
from anabranch.errors import Busy, CommitExpired, Conflict, NotFound
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write
from anabranch.model.page import upper_bound
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.garbage.stored_rules import StoredRules
from anabranch.versioning.garbage.sweeps import CLOCK_SKEW_SECONDS, SweepRecords
from anabranch.versioning.garbage.swept_trees import SweptTrees
from anabranch.versioning.history.commit_store import Commits
from anabranch.versioning.identifiers import Identifiers
from anabranch.versioning.staging.extra_writes import ExtraWrites

__all__ = ["MAX_PIN_SECONDS", "PIN_SECONDS", "AdmitCommits", "Pin", "Pins"]

PIN_SECONDS = 600
"""The default duration of a pin, from when it is written or renewed."""

MAX_PIN_SECONDS = 3600
"""The longest duration of a pin, from when it is written or renewed."""

_PARTITION = "anabranch-pins"
_MAX_ATTEMPTS = 100
_REFERENCES = "/"
"""Prefix of the names of pins that references share. Names of users' pins begin with the name of
the user, which is never empty.
"""


class _Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stored pin: its commits, and when it expires, in seconds since 1970. `checked` is set on a
    pin that references share, once its commits were found active after it was written.
    """

    commits: list[str]
    until: int
    checked: bool = False


_DECODER = msgspec.json.Decoder(_Record)


class Pin(msgspec.Struct, frozen=True):
    """A written pin: its key and its record."""

    key: bytes
    record: bytes

    @property
    def unchanged(self) -> Expect:
        """The condition that the pin has not changed since it was written."""
        return Expect(_PARTITION, self.key, self.record)


class Pins:
    """The pins of all repositories. `clock` gives seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        sweeps: SweepRecords,
        identifiers: Identifiers,
        rules: StoredRules,
        commits: Commits,
        swept: SweptTrees,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._sweeps = sweeps
        self._identifiers = identifiers
        self._rules = rules
        self._commits = commits
        self._swept = swept
        self._clock = clock

    def admit_commits(self, repository: Repository, commit_ids: Sequence[str]) -> ExtraWrites:
        """Returns the conditions for creating references to commits. While a sweep runs, each
        commit is pinned for at least PIN_SECONDS: if the reference moves to another branch or tag,
        a collector may miss it in two passes, but it does not miss the pin.

        Raises CommitExpired for an expired commit while a sweep runs, and for one
        that has lost objects to an earlier sweep; NotFound for a commit that is examined before it
        is made.
        """
        for commit_id in commit_ids:
            if not self._commits.is_made(repository, commit_id):
                raise NotFound(
                    "commit not found",
                    kind="commit_not_found",
                    hint=f"The commit {commit_id} is not made yet: hooks examine it.",
                )
        sweep_ids, unchanged = self._sweeps.running()
        expect: list[Expect] = [unchanged]
        if sweep_ids:
            about_to_take_long()
            expect = [self._pin_reference(repository, commit_id) for commit_id in commit_ids]
        # after the record of sweeps was read: a sweep that begins later fails the condition
        for commit_id in commit_ids:
            self._swept.require_commit(repository, commit_id)
        return (), expect

    def pin(
        self,
        repository: Repository,
        commit_ids: Sequence[str],
        *,
        name: str = "",
        seconds: int = PIN_SECONDS,
    ) -> Pin:
        """Pins commits for a number of seconds and returns the pin: a new one, or the existing pin
        called `name`, whose commits are replaced and whose expiry is never moved earlier.

        Raises CommitExpired for an added commit that has expired while a sweep
        runs; the pin is then unchanged.
        """
        pin = self.by_name(repository, name or self._identifiers.xid())
        before = self._keyvalue.get(_PARTITION, pin.key) if name else None
        for _ in range(_MAX_ATTEMPTS):
            old = None if before is None else _DECODER.decode(before)
            held = () if old is None else old.commits
            until = max(self._until(seconds), 0 if old is None else old.until)
            added = [commit_id for commit_id in commit_ids if commit_id not in held]
            # the pin has both sets of commits until the added ones are known to be active
            both = msgspec.json.encode(_Record([*held, *added], until))
            if not self._replace(pin.key, before, both):
                before = self._keyvalue.get(_PARTITION, pin.key)
                continue
            if added and self._sweeps.running()[0]:
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

    def hold(self, repository: Repository, commit_id: str, *, name: str, seconds: int) -> Pin:
        """Pins a commit that is not made yet for a number of seconds, and returns the pin, which is
        new. Its objects may not be protected otherwise: the change that makes it finds that out.
        """
        pin = self.by_name(repository, name)
        record = msgspec.json.encode(_Record([commit_id], self._until(seconds)))
        self._keyvalue.apply([Write(_PARTITION, pin.key, record)])
        return Pin(pin.key, record)

    def by_name(self, repository: Repository, name: str) -> Pin:
        """Returns the pin with a name, to renew or release it; it need not exist."""
        return Pin(f"{repository.partition}/{name}".encode("utf-8", "surrogateescape"), b"")

    def renew(self, pin: Pin, seconds: int = PIN_SECONDS) -> Pin:
        """Renews a pin for a number of seconds and returns the renewed pin. Can be repeated if the
        outcome of an earlier renewal is unknown.

        Raises Conflict (kind pin_lost) if the pin was released or has expired: its commits may then
        have lost objects.
        """
        for _ in range(_MAX_ATTEMPTS):
            raw = self._keyvalue.get(_PARTITION, pin.key)
            if raw is None:
                raise Conflict(
                    "the pin of the commits was not renewed in time, or was released: garbage "
                    "collection may have removed objects",
                    kind="pin_lost",
                    hint="Run it again.",
                )
            stored = _DECODER.decode(raw)
            until = max(stored.until, self._until(seconds))
            record = msgspec.json.encode(msgspec.structs.replace(stored, until=until))
            if self._replace(pin.key, raw, record):
                return Pin(pin.key, record)
        raise Busy("the pin is being changed by many at once")

    def release(self, pin: Pin) -> None:
        """Removes a pin, if it exists."""
        self._keyvalue.apply([Write(_PARTITION, pin.key, None)])

    def release_after_reference(self, pin: Pin) -> None:
        """Removes a pin of commits whose objects are now referenced otherwise. While a sweep runs,
        the pin is kept until it expires, as in `admit_commits`.
        """
        if not self._sweeps.running()[0]:
            self.release(pin)

    def exists(self, pin: Pin) -> bool:
        """Returns whether a pin is stored; it may have expired."""
        return self._keyvalue.get(_PARTITION, pin.key) is not None

    def count(self, repository: Repository, prefix: str, limit: int) -> int:
        """Returns the number of pins whose names begin with a prefix, at most `limit`."""
        start = self.by_name(repository, prefix).key
        records = self._keyvalue.scan(_PARTITION, start, upper_bound(start), limit=limit)
        return sum(1 for _ in records)

    def commits(self, repository: Repository) -> set[str]:
        """Returns the pinned commits of a repository. Expired pins are deleted before they are
        ignored, so that a process that resumes after a long pause fails to renew its pin.
        """
        prefix = f"{repository.partition}/".encode()
        records = self._keyvalue.scan(_PARTITION, prefix, upper_bound(prefix))
        return {
            commit_id for record in self._remove_expired(records) for commit_id in record.commits
        }

    def partitions(self) -> set[str]:
        """Returns the partitions of the repositories that have pinned commits, also of those that
        were deleted. Expired pins are deleted before they are ignored, as by `commits`.
        """
        self.clean()
        return {key.partition(b"/")[0].decode() for key, _ in self._keyvalue.scan(_PARTITION)}

    def clean(self) -> None:
        """Removes the expired pins of all repositories."""
        for _ in self._remove_expired(self._keyvalue.scan(_PARTITION)):
            pass

    def _remove_expired(self, records: Iterable[tuple[bytes, bytes]]) -> Iterator[_Record]:
        """Removes expired pins and yields the others."""
        now = self._clock() - CLOCK_SKEW_SECONDS
        for key, raw in list(records):
            record = _DECODER.decode(raw)
            if record.until > now or not self._replace(key, raw, None):
                yield record

    def _replace(self, key: bytes, before: bytes | None, after: bytes | None) -> bool:
        """Replaces or removes a record if it is unchanged; returns whether it was."""
        write = Write(_PARTITION, key, after)
        return self._keyvalue.apply([write], [Expect(_PARTITION, key, before)])

    def _until(self, seconds: int) -> int:
        return int(self._clock()) + seconds

    def _pin_reference(self, repository: Repository, commit_id: str) -> Expect:
        """Pins a commit for new references and returns the condition that the pin is unchanged. All
        references to a commit share one pin, which is renewed when half of its time is over. A
        checked pin proves that the commit was active when it was pinned and has lost no object
        since.
        """
        key = self.by_name(repository, f"{_REFERENCES}{commit_id}").key
        for _ in range(_MAX_ATTEMPTS):
            raw = self._keyvalue.get(_PARTITION, key)
            pinned = None if raw is None else _DECODER.decode(raw)
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
        # a clock ahead of every collector's: a commit that any of them treats as expired has
        # expired by this time too
        now = self._clock() + 2 * CLOCK_SKEW_SECONDS
        for commit_id in commit_ids:
            if self._rules.is_expired(repository, commit_id, now):
                raise CommitExpired(
                    f"commit {commit_id} has expired, and garbage collection is removing objects",
                    removed=False,
                    hint="Nothing refers to the commit any more, so its objects may be gone. Try "
                    "again when the collection is over, and read what you need from it.",
                )


class AdmitCommits(msgspec.Struct, frozen=True):
    """The conditions for a change that refers to commits."""

    pins: Pins
    repository: Repository
    commit_ids: Sequence[str]

    def writes_for(self, _: object, /) -> ExtraWrites:
        """Returns the conditions. Raises as `Pins.admit_commits` does."""
        return self.pins.admit_commits(self.repository, self.commit_ids)
