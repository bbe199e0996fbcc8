"""Leases: pins on commits that last while a job of this process runs.

    with hold_lease(StoredPin(core, repository), [commit.id]) as lease:
        for page in pages:
            lease.check()
            ...

A background thread renews the pin, so that a job may wait for its stores as long as necessary. A
renewal that fails is retried until the pin may have expired. After a longer suspension, `check`
raises if objects of the commits may have been removed: a collector removes the record of a pin
before it removes objects, so a renewal that finds the record proves that nothing was removed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from anabranch.errors import AnabranchError, Conflict, Gone
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.core import Core
from anabranch.versioning.garbage.pins import PIN_SECONDS

__all__ = ["HeldPin", "Lease", "StoredPin", "hold_lease"]

_log = logging.getLogger(__name__)

_RENEWALS = 3
"""The number of renewals within the lifetime of a pin."""

_RETRY_SECONDS = 5.0
_LOST = "pin_lost"
_HINT = "Run it again."


class HeldPin(Protocol):
    """The pin of a job, in a key-value store or on a server; see `versioning.garbage.pins`."""

    def pin(self, commit_ids: Sequence[str], seconds: int) -> None:
        """Pins commits in place of the previous ones. Raises Conflict (kind commit_expired)."""

    def renew(self, seconds: int) -> None:
        """Renews the pin. Raises Conflict (kind pin_lost) if it has expired."""

    def release(self) -> None:
        """Removes the pin, if it exists."""


class StoredPin:
    """A pin in the key-value store; without a name, a new name is generated."""

    def __init__(self, core: Core, repository: Repository, name: str = "") -> None:
        self._pins = core.pins
        self._repository = repository
        self._name = name or core.identifiers.xid()

    def pin(self, commit_ids: Sequence[str], seconds: int) -> None:
        """Pins commits."""
        self._pins.pin(self._repository, commit_ids, name=self._name, seconds=seconds)

    def renew(self, seconds: int) -> None:
        """Renews the pin."""
        self._pins.renew(self._pins.by_name(self._repository, self._name), seconds)

    def release(self) -> None:
        """Removes the pin."""
        self._pins.release(self._pins.by_name(self._repository, self._name))


class _Instant(NamedTuple):
    """A point in time by two clocks: the wall clock, which continues while the machine is
    suspended, and the monotonic clock, which is never set.
    """

    wall: float
    ticks: float

    @classmethod
    def now(cls) -> _Instant:
        return cls(time.time(), time.monotonic())

    def seconds_since(self) -> float:
        """Returns the seconds since then, by the clock that has advanced more."""
        now = _Instant.now()
        return max(now.wall - self.wall, now.ticks - self.ticks)


class Lease:
    """A pin that is renewed until `end`, or until `is_needed` returns False at a renewal. `seconds`
    is the lifetime of the pin without a renewal. Raises the errors of `HeldPin.pin`.
    """

    def __init__(
        self,
        pin: HeldPin,
        commit_ids: Sequence[str],
        *,
        seconds: int = PIN_SECONDS,
        is_needed: Callable[[], bool] = lambda: True,
    ) -> None:
        self._pin = pin
        self._seconds = seconds
        self._is_needed = is_needed
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._lost: Conflict | None = None
        self._renewed = _Instant.now()
        pin.pin(commit_ids, seconds)
        threading.Thread(target=self._renew_until_end, name="anabranch-lease", daemon=True).start()

    def check(self) -> None:
        """Raises Conflict (kind pin_lost) if objects of the commits may have been removed. Reads
        the store only if the pin was not renewed in time.
        """
        if self._lost is not None:
            raise self._lost
        if self._is_overdue():
            self.verify()

    def verify(self) -> None:
        """Renews the pin immediately. Raises Conflict (kind pin_lost) if it was lost, or if it
        cannot be renewed and may have expired.
        """
        if self._lost is not None:
            raise self._lost
        try:
            self._renew()
        except AnabranchError as error:
            if self._lost is not None:
                raise
            if self._is_overdue():
                self._lost = Conflict(
                    f"the pin of the commits was not renewed for {self._seconds} seconds: "
                    f"{error.message}",
                    kind=_LOST,
                    hint=_HINT,
                )
                raise self._lost from error

    def pin(self, commit_ids: Sequence[str]) -> None:
        """Pins other commits instead of the current ones. Raises the errors of `HeldPin.pin`."""
        with self._lock:
            start = _Instant.now()
            self._pin.pin(commit_ids, self._seconds)
            self._renewed, self._lost = start, None

    def end(self) -> None:
        """Releases the pin. A pin that cannot be released expires by itself."""
        self._stop.set()
        try:
            self._pin.release()
        except AnabranchError as error:
            _log.info("a pin was not released: %s", error.message)

    def _is_overdue(self) -> bool:
        return self._renewed.seconds_since() > self._seconds

    def _renew(self) -> None:
        with self._lock:
            start = _Instant.now()
            try:
                self._pin.renew(self._seconds)
            except Conflict as error:
                if error.kind == _LOST:
                    self._lost = error
                raise
            self._renewed = start

    def _renew_until_end(self) -> None:
        interval = self._seconds / _RENEWALS
        wait, failed = interval, False
        while not self._stop.wait(wait):
            wait = interval
            if not self._is_needed():
                self.end()
            elif self._lost is None:
                failed = not self._renew_in_background(warn=not failed)
                if failed and not self._is_overdue():
                    wait = min(_RETRY_SECONDS, interval)

    def _renew_in_background(self, *, warn: bool) -> bool:
        """Renews the pin, and returns whether the renewal succeeded."""
        try:
            self._renew()
        except Exception as error:  # noqa: BLE001  `check` reports errors that persist
            if warn and not self._stop.is_set():
                _log.warning("a pin was not renewed: %s", error)
            return False
        return True


@contextmanager
def hold_lease(
    pin: HeldPin, commit_ids: Sequence[str], *, seconds: int = PIN_SECONDS
) -> Iterator[Lease]:
    """Pins commits while the context is active.

    Raises Conflict: commit_expired for an expired commit while a sweep is running, and pin_lost
    instead of Gone if an object is missing because the pin was lost.
    """
    lease = Lease(pin, commit_ids, seconds=seconds)
    try:
        yield lease
    except Gone:
        lease.verify()
        raise
    finally:
        lease.end()
