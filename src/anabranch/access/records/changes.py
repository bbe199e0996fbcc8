"""Changes of access control: each is one conditional write that also increments a version.

A change reads the version, then what it needs, and writes on condition that the version is
unchanged. So whatever a change has checked holds when it is written, also if several servers change
records at once. Other servers poll the version to invalidate their caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from anabranch.access.records.layout import OWN_PARTITION, VERSION_KEY
from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["AccessChanges", "bump_version"]


class AccessChanges:
    """Applies changes to the records of access control. `check` is called with the store and the
    writes before each, and raises if they must not be made; `on_change` is called after each.
    """

    def __init__(
        self,
        store: KeyValueStore,
        check: Callable[[KeyValueStore, Sequence[Write]], None],
        on_change: Callable[[], None],
    ) -> None:
        self._store = store
        self._check = check
        self._on_change = on_change

    def version(self) -> bytes:
        """Returns the version of all records of access control, empty before the first change."""
        return self._store.get(OWN_PARTITION, VERSION_KEY) or b""

    def apply(self, plan: Callable[[], Iterable[Write]]) -> None:
        """Makes the writes that `plan` returns, atomically.

        Calls `plan` again if any record of access control changed since it began; it must read what
        it depends on each time it is called. What it or the check raises is raised, unless records
        changed meanwhile: it may have read one before the change and one after it. Nothing is
        written then, nor if it returns no writes.
        """
        while True:
            current = self._store.get(OWN_PARTITION, VERSION_KEY)
            try:
                writes = list(plan())
                if not writes:
                    return
                self._check(self._store, writes)
            except AnabranchError:
                if self._store.get(OWN_PARTITION, VERSION_KEY) != current:
                    continue
                raise
            bump, unchanged = bump_version(current)
            if self._store.apply([*writes, bump], [unchanged]):
                self._on_change()
                return


def bump_version(current: bytes | None) -> tuple[Write, Expect]:
    """Returns the write that increments the version, and the condition that it is current."""
    following = b"%d" % (int(current or b"0") + 1)
    return (
        Write(OWN_PARTITION, VERSION_KEY, following),
        Expect(OWN_PARTITION, VERSION_KEY, current),
    )
