"""One import that goes on: it finds, replaces and commits, and says how far it is.

Its state lies in the key-value store. While it works, a second thread writes the state every two
seconds, by compare-and-set, and so notices when somebody cancels it. The step that moves the
branch also completes the state: there is no moment between the two.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from anabranch.blocks.sources import Sources
from anabranch.errors import AnabranchError
from anabranch.keyvalue.contract import Expect, Write
from anabranch.model.commit import Commit
from anabranch.model.imports import ImportStatus
from anabranch.model.repository import Repository
from anabranch.pipelines.imports.gathering import gather
from anabranch.pipelines.imports.landing import ImportRequest, Landing, require_clean
from anabranch.pipelines.imports.tally import Tally
from anabranch.versioning.core import Core

__all__ = ["RunningImport"]

_log = logging.getLogger(__name__)

_BEAT_SECONDS = 2.0


class _Stopped(Exception):
    """The import shall not go on; its record says why, or `stop` was told."""


class RunningImport:
    """An import in two threads of its own. `slots` bounds how many work at once, `clock` gives
    seconds since 1970, `ended` is called when it has ended.
    """

    def __init__(
        self,
        core: Core,
        sources: Sources,
        repository: Repository,
        request: ImportRequest,
        import_id: str,
        *,
        slots: threading.Semaphore,
        clock: Callable[[], float],
        ended: Callable[[str], None],
    ) -> None:
        self.id = import_id
        self._core = core
        self._sources = sources
        self._repository = repository
        self._request = request
        self._slots = slots
        self._clock = clock
        self._ended = ended
        self._stop_reason: str | None = None
        self._tally = Tally(self._look)
        self._folder = ""
        self._worked = threading.Event()
        self._done = threading.Event()

    def start(self) -> None:
        """Writes the first state and begins."""
        self._core.imports.replace(self._repository, None, self._status())
        for name, run in (("beat", self._beat), ("work", self._work)):
            threading.Thread(target=run, name=f"import-{name}-{self.id}", daemon=True).start()

    def stop(self, reason: str) -> None:
        """Lets the import end soon, with this reason as its error unless it has one already."""
        self._stop_reason = reason

    def wait(self, seconds: float) -> None:
        """Waits until the import has ended; one that does not in so many seconds has failed."""
        if not self._done.wait(seconds):
            self._fail(self._stop_reason or "it did not end")

    def _status(self) -> ImportStatus:
        return ImportStatus(id=self.id, updated_at=self._clock(), progress=self._tally.found)

    def _look(self) -> None:
        if self._stop_reason is not None:
            raise _Stopped

    def _beat(self) -> None:
        try:
            while not self._worked.wait(_BEAT_SECONDS):
                try:
                    self._tell()
                except AnabranchError as error:
                    _log.warning("import %s: %s", self.id, error.message)
        finally:
            self._ended(self.id)
            self._done.set()

    def _tell(self) -> None:
        """Writes how far it is, and learns whether it was cancelled."""
        stored = self._core.imports.find(self._repository, self.id)
        if stored is None or stored.status.ended:
            self.stop("Canceled")
        else:
            self._core.imports.replace(self._repository, stored, self._status())
        if folder := self._folder:
            with suppress(FileNotFoundError):  # it may have ended just now
                os.utime(folder)  # or it would be cleaned away as nobody's

    def _work(self) -> None:
        try:
            while not self._slots.acquire(timeout=_BEAT_SECONDS):
                self._look()
            try:
                self._import()
            finally:
                self._slots.release()
        except _Stopped:
            self._fail(self._stop_reason or "Canceled")
        except AnabranchError as error:
            self._fail(error.message)
        except Exception:  # noqa: BLE001  whatever it is, the import has failed
            _log.exception("import %s", self.id)
            self._fail("internal error; the server's log says more")
        finally:
            self._worked.set()

    def _import(self) -> None:
        core, request, repository = self._core, self._request, self._repository
        require_clean(core, repository, request.branch)
        with core.trees.scratch() as folder:
            self._folder = folder
            try:
                gathered = gather(request.sources, self._sources, core.trees, folder, self._tally)
                landing = Landing(core, repository, request, folder, gathered, self._look)
                landing.commit(self._completion)
            finally:
                self._folder = ""
        landing.remember(self._clock())

    def _completion(self, commit: Commit) -> tuple[Sequence[Write], Sequence[Expect]]:
        """Decides to write, with the branch, that the import is complete, if it goes on."""
        self._look()
        stored = self._core.imports.find(self._repository, self.id)
        if stored is None or stored.status.ended:
            raise _Stopped
        status = msgspec.structs.replace(
            self._status(), completed=True, commit=commit, metarange_id=commit.metarange_id
        )
        write, expect = self._core.imports.replacing(self._repository, stored, status)
        return [write], [expect]

    def _fail(self, reason: str) -> None:
        """Writes why the import ended, if that has not been said."""
        try:
            while True:
                stored = self._core.imports.find(self._repository, self.id)
                if stored is None or stored.status.ended:
                    return
                status = msgspec.structs.replace(self._status(), error=reason)
                if self._core.imports.replace(self._repository, stored, status):
                    return
        except AnabranchError as error:
            _log.warning("import %s: %s; its state cannot be written: %s", self.id, reason, error)
