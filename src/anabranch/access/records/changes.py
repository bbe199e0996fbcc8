"""Changes of access control: each is one conditional write that also increments a version.

A change reads the version, then what it needs, and writes on condition that the version is
unchanged. So whatever a change has checked holds when it is written, also if several servers change
records at once. Other servers poll the version to invalidate their caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Protocol

from anabranch.access.records.layout import OWN_PARTITION, VERSION_KEY
from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["AccessChanges", "AccessGuard", "Attempt", "bump_version"]


class AccessGuard(Protocol):
    """What holds for all changes."""

    def check(self, store: KeyValueStore, writes: Sequence[Write], /) -> None:
        """Receives the writes of a change before they are made. Raises if they must not be."""


class AccessChanges:
    """Changes of the records of access control. `on_change` is called after each."""

    def __init__(
        self, store: KeyValueStore, guard: AccessGuard, on_change: Callable[[], None]
    ) -> None:
        self._store = store
        self._guard = guard
        self._on_change = on_change

    def version(self) -> bytes:
        """Returns the version of all records of access control, empty before the first change."""
        return self._store.get(OWN_PARTITION, VERSION_KEY) or b""

    def attempts(self) -> Iterator[Attempt]:
        """Yields attempts to make one change, until one of them has made it or has failed.

            for attempt in changes.attempts():
                with attempt:
                    ...  # read what the change depends on, in each attempt anew
                    attempt.write(writes)

        All writes of an attempt are made together. If other records have changed since it began, it
        makes none, and there is another one. What it or the guard raises is raised, unless records
        have changed meanwhile: it may have read one before that change and one after it. An attempt
        without writes changes nothing.
        """
        while True:
            attempt = Attempt(self._store, self._guard)
            yield attempt
            if attempt.is_over:
                break
        if attempt.has_written:
            self._on_change()


class Attempt:
    """One attempt to make a change: as a context, it begins with the version of all records."""

    def __init__(self, store: KeyValueStore, guard: AccessGuard) -> None:
        self._store = store
        self._guard = guard
        self._writes: list[Write] = []
        self._expect: list[Expect] = []
        self._version: bytes | None = None
        self.is_over = self.has_written = False

    def write(self, writes: Iterable[Write]) -> None:
        """Adds writes to those that are made when the context ends."""
        self._writes += writes

    def require(self, condition: Expect) -> None:
        """Adds a condition to that of the version: of a record that is not one of access control.
        If it does not hold, there is another attempt.
        """
        self._expect.append(condition)

    def __enter__(self) -> None:
        self._version = self._store.get(OWN_PARTITION, VERSION_KEY)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is None:
            try:
                self._make()
            except AnabranchError:
                if self._is_current():
                    raise
            return False
        return isinstance(error, AnabranchError) and not self._is_current()

    def _make(self) -> None:
        if not self._writes:
            self.is_over = True
            return
        self._guard.check(self._store, self._writes)
        bump, unchanged = bump_version(self._version)
        self.is_over = self.has_written = self._store.apply(
            [*self._writes, bump], [unchanged, *self._expect]
        )

    def _is_current(self) -> bool:
        return self._store.get(OWN_PARTITION, VERSION_KEY) == self._version


def bump_version(current: bytes | None) -> tuple[Write, Expect]:
    """Returns the write that increments the version, and the condition that it is current."""
    following = b"%d" % (int(current or b"0") + 1)
    return (
        Write(OWN_PARTITION, VERSION_KEY, following),
        Expect(OWN_PARTITION, VERSION_KEY, current),
    )
