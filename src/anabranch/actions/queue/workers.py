"""Workers: threads that run the hooks of queued events."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from anabranch.actions.queue.queue import Queue
from anabranch.errors import AnabranchError

__all__ = ["Workers"]

_log = logging.getLogger(__name__)

_POLL_SECONDS = 1.0
"""How often the events that other servers have queued, or left, are looked for."""
_CLOSE_SECONDS = 10.0
_MAX_COUNTED = 1000
"""The most events that are counted, since they are read for that."""


class Workers:
    """At most `limit` threads. `perform` runs the hooks of an event, given its key and record, and
    returns whether it did: another server may have been first.
    """

    def __init__(
        self, queue: Queue, perform: Callable[[bytes, bytes], bool], *, limit: int
    ) -> None:
        self._queue = queue
        self._perform = perform
        self._limit = limit
        self._changed = threading.Condition()
        self._awake = True
        self._stopped = False
        self._busy: set[bytes] = set()
        self.waiting = 0
        """How many events waited for hooks when they were last looked for, of all servers; at most
        _MAX_COUNTED.
        """
        self._thread = threading.Thread(target=self._dispatch, name="hooks-queue", daemon=True)

    def start(self) -> None:
        """Starts to run the hooks of queued events."""
        self._thread.start()

    def wake(self) -> None:
        """Makes the workers look for events at once: one was queued."""
        with self._changed:
            self._awake = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Stops; waits a while for running hooks. Those that remain are run again later."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, _CLOSE_SECONDS)

    def _dispatch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._awake or self._stopped, _POLL_SECONDS)
                if self._stopped:
                    return
                self._awake = False
            try:
                self._start_events()
            except AnabranchError as error:
                _log.warning("the queue of hooks: %s", error.message)
            except Exception:  # noqa: BLE001  the store may be back at the next attempt
                _log.exception("the queue of hooks")

    def _start_events(self) -> None:
        """Starts a thread for each event, as long as there are few enough."""
        waiting = 0
        for key, raw in self._queue.waiting():
            with self._changed:
                if self._stopped:
                    return
                if key in self._busy:
                    continue
                is_free = len(self._busy) < self._limit
                if is_free:
                    self._busy.add(key)
            if not is_free:
                waiting += 1
                if waiting == _MAX_COUNTED:
                    break
                continue
            threading.Thread(
                target=self._run, args=(key, raw), name="hooks-worker", daemon=True
            ).start()
        self.waiting = waiting

    def _run(self, key: bytes, raw: bytes) -> None:
        performed = False
        try:
            performed = self._perform(key, raw)
        except AnabranchError as error:
            _log.warning("hooks after a change: %s", error.message)
        except Exception:  # noqa: BLE001  the event stays in the queue
            _log.exception("hooks after a change")
        finally:
            with self._changed:
                self._busy.discard(key)
                self._awake |= performed  # the next event can start
                self._changed.notify_all()
