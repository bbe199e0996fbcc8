"""Deletions of ended branches that hooks decide on, in threads of their own: a hook that hangs must
not keep other branches, nor the housekeeping that shares a thread with their expiry.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable

from anabranch.errors import AnabranchError

__all__ = ["MAX_OF_REPOSITORY", "HookedDeletions"]

MAX_OF_REPOSITORY = 4
"""How many branches of one repository wait for hooks at once."""

_MAX_RUNNING = 16
_CLOSE_SECONDS = 10.0
_log = logging.getLogger(__name__)


class HookedDeletions:
    """Deletions that are running, by the partition of their repository."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: Counter[str] = Counter()
        self._stopped = False

    def start(self, partition: str, delete: Callable[[], object]) -> bool:
        """Runs a deletion in a thread; returns False if too many are running, or it is stopped."""
        with self._changed:
            is_full = self._running.total() >= _MAX_RUNNING
            if self._stopped or is_full or self._running[partition] >= MAX_OF_REPOSITORY:
                return False
            self._running[partition] += 1
        name = "anabranch-branch-expiry"
        threading.Thread(target=self._run, args=(partition, delete), name=name, daemon=True).start()
        return True

    def wait(self, seconds: float) -> bool:
        """Waits until none is running; returns whether that is so in time."""
        with self._changed:
            return self._changed.wait_for(self._is_idle, seconds)

    def stop(self) -> None:
        """Starts no further ones, and waits a while for those that are running."""
        with self._changed:
            self._stopped = True
        self.wait(_CLOSE_SECONDS)

    def _is_idle(self) -> bool:
        return not self._running.total()

    def _run(self, partition: str, delete: Callable[[], object]) -> None:
        try:
            delete()
        except AnabranchError as error:
            _log.warning("expiry of a branch: %s", error.message)
        except Exception:  # noqa: BLE001  it is tried again later
            _log.exception("expiry of a branch")
        finally:
            with self._changed:
                self._running[partition] -= 1
                self._changed.notify_all()
