"""Runs that have not ended yet, and those that never will.

    anabranch-running-actions    RUN    Running, as JSON

The server that runs hooks renews the record; one that is not renewed for LEASE_SECONDS is of a
server that has died. Its run is then stored as failed, with hooks that say so.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec

from anabranch.actions.runs.logs import RunLogs
from anabranch.actions.runs.records import RunRecords
from anabranch.actions.runs.run import HookRun, Run
from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import Expect, KeyValueStore, Write

__all__ = ["LEASE_SECONDS", "RENEWAL_SECONDS", "Heartbeat", "Running", "RunningRuns"]

_log = logging.getLogger(__name__)

LEASE_SECONDS = 60.0
RENEWAL_SECONDS = 10.0
_PARTITION = "anabranch-running-actions"
_INTERRUPTED = "Error: the server that ran this hook has stopped; whether it has ended is unknown\n"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has begun, with all hooks that it may run; `until` is the end of the lease in
    seconds since 1970. `chain` is what the run's own changes are caused by; see `Event`.
    """

    repository: str
    namespace: str
    run: Run
    hooks: Sequence[HookRun]
    chain: tuple[str, ...] = ()
    until: float = 0


_DECODER = msgspec.json.Decoder(Running)


class RunningRuns:
    """The runs of all servers that have not ended. `clock` returns seconds since 1970."""

    def __init__(
        self,
        keyvalue: KeyValueStore,
        records: RunRecords,
        logs: RunLogs,
        clock: Callable[[], float],
    ) -> None:
        self._keyvalue = keyvalue
        self._records = records
        self._logs = logs
        self._clock = clock
        self._lock = threading.Lock()
        self._own: dict[str, Running] = {}

    def begin(self, running: Running) -> Write:
        """Returns the write that records a run of this process, which renews it until `end`."""
        with self._lock:
            self._own[running.run.id] = running
        return self._write(running)

    def end(self, run_id: str) -> Write:
        """Returns the write that removes the record of a run, which is no longer renewed."""
        with self._lock:
            self._own.pop(run_id, None)
        return Write(_PARTITION, run_id.encode(), None)

    @contextmanager
    def abandoned_on_error(self, run_id: str) -> Iterator[None]:
        """Stops to renew a run if the context ends with an exception: it is taken for that of a
        dead server when its lease ends, whatever could be written.
        """
        try:
            yield
        except BaseException:
            self.end(run_id)
            raise

    def find(self, run_id: str) -> Running | None:
        """Returns a run that has not ended, None if there is none."""
        raw = self._keyvalue.get(_PARTITION, run_id.encode("utf-8", "surrogateescape"))
        return None if raw is None else _decode(raw)

    def lives(self, run_id: str) -> bool:
        """Returns whether a run has not ended, and its server lives. A run whose server has died
        is stored as such.
        """
        raw = self._keyvalue.get(_PARTITION, run_id.encode())
        return raw is not None and not self._interrupt(raw)

    def renew(self) -> None:
        """Renews the records of this process."""
        with self._lock:
            own = list(self._own.values())
        for running in own:
            key = running.run.id.encode()
            raw = self._keyvalue.get(_PARTITION, key)
            if raw is not None:  # else it has just ended, or another server has taken it for dead
                self._keyvalue.apply([self._write(running)], [Expect(_PARTITION, key, raw)])

    def interrupt_dead(self) -> None:
        """Stores the runs whose servers have died as failed."""
        for _, raw in list(self._keyvalue.scan(_PARTITION)):
            self._interrupt(raw)

    def _interrupt(self, raw: bytes) -> bool:
        """Stores a run as failed if its server has died; returns whether it has."""
        running = _decode(raw)
        with self._lock:
            own = running.run.id in self._own
        if own or running.until > self._clock():
            return False
        now = self._clock()
        run = msgspec.structs.replace(running.run, ended=now, passed=False)
        hooks = [
            msgspec.structs.replace(each, started=run.started, ended=now) for each in running.hooks
        ]
        key = run.id.encode()
        if self._keyvalue.get(_PARTITION, key) != raw:
            return True  # another server has stored it, with the outputs of its hooks
        # outputs come first: whoever reads that the run has failed finds them
        outputs = {each.hook_run_id: _INTERRUPTED for each in hooks}
        self._logs.write(running.namespace, run, hooks, outputs)
        writes = [Write(_PARTITION, key, None)]
        writes += self._records.writes(running.repository, run, hooks)
        if self._keyvalue.apply(writes, [Expect(_PARTITION, key, raw)]):
            _log.warning("the server of run %s of %s has stopped", run.id, running.repository)
        return True

    def _write(self, running: Running) -> Write:
        renewed = msgspec.structs.replace(running, until=self._clock() + LEASE_SECONDS)
        return Write(_PARTITION, running.run.id.encode(), msgspec.json.encode(renewed))


class Heartbeat:
    """A thread that renews the runs of this process and finds those of dead servers."""

    def __init__(self, runs: RunningRuns) -> None:
        self._runs = runs
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="hooks-heartbeat", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stops the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat(self) -> None:
        while True:
            try:
                self._runs.renew()
                self._runs.interrupt_dead()
            except AnabranchError as error:
                _log.warning("runs of hooks: %s", error.message)
            except Exception:  # noqa: BLE001  the next beat may succeed
                _log.exception("runs of hooks")
            if self._stopped.wait(RENEWAL_SECONDS):
                return


def _decode(raw: bytes) -> Running:
    return _DECODER.decode(raw)
