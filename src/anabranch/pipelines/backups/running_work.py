"""Marks of work in a target: pruning excludes all else. Backups and restores exclude nothing else.

Who begins writes a mark, and then looks for marks of what excludes it: of two that begin at once,
at least one finds the other. A mark is written again every minute, and one that is ten minutes old
is of a process that was killed.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from anabranch.errors import AnabranchError, Busy, Gone
from anabranch.pipelines.backups.target import BackupTarget

__all__ = ["excluding"]

_RENEWAL_SECONDS = 60.0
_EXPIRY_SECONDS = 600.0
_PRUNING, _SHARED = "pruning", "shared"


@contextmanager
def excluding(target: BackupTarget, clock: Callable[[], float], *, alone: bool) -> Iterator[None]:
    """Marks that work is going on while the context is entered: `alone` for pruning. Raises Busy if
    other work excludes it.
    """
    kind = _PRUNING if alone else _SHARED
    address = f"{target.namespace}/running/{kind}-{secrets.token_hex(8)}"
    stopped = threading.Event()

    def mark() -> None:
        target.blocks.put(address, [b"%f" % clock()])

    def renew() -> None:
        while not stopped.wait(_RENEWAL_SECONDS):
            with suppress(AnabranchError):  # the next time may succeed
                mark()

    mark()
    try:
        _require_none(target, clock(), address, _PRUNING)
        if alone:
            _require_none(target, clock(), address, _SHARED)
        thread = threading.Thread(target=renew, name="backup-mark", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()
    finally:
        target.blocks.delete([address])


def _require_none(target: BackupTarget, now: float, own: str, kind: str) -> None:
    """Raises Busy if there is a recent mark of a kind; removes those that are old."""
    for info in target.blocks.list(f"{target.namespace}/running/{kind}-"):
        if info.address == own:
            continue
        try:
            since = float(target.blocks.read(info.address))
        except (Gone, ValueError):
            continue
        if now - since > _EXPIRY_SECONDS:
            target.blocks.delete([info.address])
            continue
        what = "pruned" if kind == _PRUNING else "used by a backup or a restore"
        raise Busy(
            f"the target is being {what}",
            kind="backup_under_way",
            hint="Try again when it is over. A process that was killed counts for ten minutes.",
        )
