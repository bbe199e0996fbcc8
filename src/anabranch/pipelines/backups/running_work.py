"""Marks of work in a target: pruning excludes all else. Backups and restores exclude nothing else.

Who begins writes a mark, and then looks for marks of what excludes it: of two that begin at once,
at least one finds the other. A mark is written again every minute, and one that is ten minutes old
is of a process that was killed. Ages are compared by the times of the store: the clocks of machines
may differ.

A process that was suspended may find that its mark is gone, and other work done meanwhile. So marks
are looked at before what must not happen then: before a backup is published, and before anything is
removed.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from anabranch.errors import AnabranchError, Busy
from anabranch.pipelines.backups.target import BackupTarget

__all__ = ["RunningWork", "excluding"]

_RENEWAL_SECONDS = 60.0
_EXPIRY_SECONDS = 600.0
_SAFE_SECONDS = 300.0
_PRUNING, _SHARED = "pruning", "shared"


class RunningWork:
    """The mark of work that is going on. `ticks` returns seconds of a monotonic clock."""

    def __init__(self, target: BackupTarget, kind: str, ticks: Callable[[], float]) -> None:
        self._target = target
        self._ticks = ticks
        self._lock = threading.Lock()
        self._is_lost = False
        self._renewed = ticks()
        self.address = f"{target.namespace}/running/{kind}-{secrets.token_hex(8)}"
        target.blocks.put(self.address, [b""])

    def require(self) -> None:
        """Raises Busy (kind backup_lost_mark) if other work may have begun meanwhile."""
        with self._lock:
            self._look()
            if self._is_lost:
                raise Busy(
                    "this process was stopped for minutes, and ends: others may have used the "
                    "target meanwhile",
                    kind="backup_lost_mark",
                    hint="Repeat it.",
                )

    def renew(self) -> None:
        """Writes the mark again, unless it was lost."""
        with self._lock:
            self._look()
            if not self._is_lost:
                begun = self._ticks()
                self._target.blocks.put(self.address, [b""])
                self._renewed = begun

    def _look(self) -> None:
        is_late = self._ticks() - self._renewed > _SAFE_SECONDS
        if is_late or self._target.blocks.stat(self.address) is None:
            self._is_lost = True


@contextmanager
def excluding(
    target: BackupTarget, *, alone: bool, ticks: Callable[[], float] = time.monotonic
) -> Iterator[RunningWork]:
    """Marks that work is going on while the context is entered: `alone` for pruning. Raises Busy if
    other work excludes it.
    """
    work = RunningWork(target, _PRUNING if alone else _SHARED, ticks)
    stopped = threading.Event()

    def renew() -> None:
        while not stopped.wait(_RENEWAL_SECONDS):
            with suppress(AnabranchError):  # the next time may succeed
                work.renew()

    try:
        _require_none(target, work.address, _PRUNING)
        if alone:
            _require_none(target, work.address, _SHARED)
        thread = threading.Thread(target=renew, name="backup-mark", daemon=True)
        thread.start()
        try:
            yield work
        finally:
            stopped.set()
            thread.join()
    finally:
        target.blocks.delete([work.address])


def _require_none(target: BackupTarget, own: str, kind: str) -> None:
    """Raises Busy if there is a recent mark of a kind; removes those that are old."""
    marked = target.blocks.stat(own)
    now = 0 if marked is None else marked.mtime
    for info in target.blocks.list(f"{target.namespace}/running/{kind}-"):
        if info.address == own:
            continue
        if now - info.mtime > _EXPIRY_SECONDS:
            target.blocks.delete([info.address])
            continue
        what = "pruned" if kind == _PRUNING else "used by a backup or a restore"
        raise Busy(
            f"the target is being {what}",
            kind="backup_under_way",
            hint="Try again when it is over. A process that was killed counts for ten minutes.",
        )
