"""A long job that goes on in this process: it works, and says how far it is.

Its state lies in the key-value store, as lakeFS keeps that of imports. While it works, a second
thread writes the state every two seconds, by compare-and-set, and so notices when somebody cancels
it. What the job ends with also completes its state, in one step: no moment lies between the two.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.commit import Commit
from anabranch.model.imports import ImportStatus
from anabranch.model.repository import Repository
from anabranch.pipelines.imports.tally import Tally
from anabranch.versioning.core import Core

__all__ = ["RunningJob", "Stopped"]

_log = logging.getLogger(__name__)

_BEAT_SECONDS = 2.0
_INTERNAL = "internal error; the server's log says more"


class Stopped(Exception):
    """The job shall not go on; its record says why, or `stop` was told."""


class RunningJob:
    """A job in two threads of its own, whose `run` a kind of job defines; `name` is the kind's.
    `slots` bounds how many work at once, `clock` gives seconds since 1970, `ended` is called when
    it has ended.
    """

    name = "job"

    def __init__(
        self,
        core: Core,
        repository: Repository,
        job_id: str,
        *,
        slots: threading.Semaphore,
        clock: Callable[[], float],
        ended: Callable[[str], None],
    ) -> None:
        self.id = job_id
        self.core = core
        self.repository = repository
        self.clock = clock
        self.tally = Tally(self._look)
        self.folder = ""
        """The folder for temporary tables that is in use, "" for none."""
        self.error: AnabranchError | None = None
        """What the job failed by, if it did."""
        self._slots = slots
        self._ended = ended
        self._stop_reason: str | None = None
        self._worked = threading.Event()
        self._done = threading.Event()

    def run(self) -> None:
        """Does the work. Raises Stopped, by way of the tally, and what goes wrong."""
        raise NotImplementedError

    def start(self) -> None:
        """Writes the first state and begins."""
        self.core.imports.replace(self.repository, None, self._status())
        for part, run in (("beat", self._beat), ("work", self._work)):
            name = f"{self.name}-{part}-{self.id}"
            threading.Thread(target=run, name=name, daemon=True).start()

    def stop(self, reason: str) -> None:
        """Lets the job end soon, with this reason as its error unless it has one already."""
        self._stop_reason = reason

    def wait(self, seconds: float) -> None:
        """Waits until the job has ended; one that does not in so many seconds has failed."""
        if not self.worked(seconds):
            self._fail(self._stop_reason or "it did not end")

    def worked(self, seconds: float) -> bool:
        """Returns whether the job has ended, at the latest after so many seconds."""
        return self._done.wait(seconds)

    def completion(self, commit: Commit) -> tuple[Sequence[Write], Sequence[Expect]]:
        """Decides to write, with what the job ends with, that it is complete, if it goes on."""
        self._look()
        stored = self.core.imports.find(self.repository, self.id)
        if stored is None or stored.status.ended:
            raise Stopped
        status = msgspec.structs.replace(
            self._status(), completed=True, commit=commit, metarange_id=commit.metarange_id
        )
        write, expect = self.core.imports.replacing(self.repository, stored, status)
        return [write], [expect]

    def _status(self) -> ImportStatus:
        return ImportStatus(id=self.id, updated_at=self.clock(), progress=self.tally.found)

    def _look(self) -> None:
        if self._stop_reason is not None:
            raise Stopped

    def _beat(self) -> None:
        try:
            while not self._worked.wait(_BEAT_SECONDS):
                try:
                    self._tell()
                except AnabranchError as error:
                    _log.warning("%s %s: %s", self.name, self.id, error.message)
        finally:
            self._ended(self.id)
            self._done.set()

    def _tell(self) -> None:
        """Writes how far it is, and learns whether it was cancelled."""
        stored = self.core.imports.find(self.repository, self.id)
        if stored is None or stored.status.ended:
            self.stop("Canceled")
        else:
            self.core.imports.replace(self.repository, stored, self._status())
        if folder := self.folder:
            with suppress(FileNotFoundError):  # it may have ended just now
                os.utime(folder)  # or it would be cleaned away as nobody's

    def _work(self) -> None:
        try:
            while not self._slots.acquire(timeout=_BEAT_SECONDS):
                self._look()
            try:
                self.run()
            finally:
                self._slots.release()
        except Stopped:
            self._fail(self._stop_reason or "Canceled")
        except AnabranchError as error:
            self.error = error
            self._fail(error.message)
        except Exception:  # noqa: BLE001  whatever it is, the job has failed
            _log.exception("%s %s", self.name, self.id)
            self.error = AnabranchError(_INTERNAL, kind="internal_error")
            self._fail(_INTERNAL)
        finally:
            self._worked.set()

    def _fail(self, reason: str) -> None:
        """Writes why the job ended, if that has not been said."""
        try:
            while True:
                stored = self.core.imports.find(self.repository, self.id)
                if stored is None or stored.status.ended:
                    return
                status = msgspec.structs.replace(self._status(), error=reason)
                if self.core.imports.replace(self.repository, stored, status):
                    return
        except AnabranchError as error:
            _log.warning(
                "%s %s: %s; its state cannot be written: %s", self.name, self.id, reason, error
            )
