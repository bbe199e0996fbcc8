"""The journal of small blocks: one sync makes many of them durable.

A small block's file is written without being synced, and its bytes are appended to the process's
journal. Who comes while a sync is under way shares the next one with all others who came; nobody
waits for company. Later, in the background, the files themselves are synced, all of one journal
together, and the journal begins anew; another takes its place meanwhile.

    put ─── file written ─── in the journal, synced ─── acknowledged
                                                             ⋮
                                journal begins anew ─── files synced
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence

from anabranch.blocks.local_files import TemporaryNames
from anabranch.blocks.local_folders import LocalFolders
from anabranch.blocks.local_journal_file import JournalFile, new_journal_file
from anabranch.blocks.local_journal_records import Record
from anabranch.blocks.local_recovery import bring_back
from anabranch.blocks.local_syncing import sync_files, sync_one_by_one
from anabranch.lane import together

__all__ = ["LONGEST_BYTES", "Journal"]

LONGEST_BYTES = 16 << 20
"""How long a journal grows before its blocks are synced and it begins anew."""
MOST_BLOCKS = 20_000
QUIET_SECONDS = 2.0
_MOST_LOOKS = 30
"""How many times a journal that grows is looked at, once in a quiet while, before it is settled."""

_log = logging.getLogger(__name__)


class _Request:
    """A record on its way into the journal. The thread that brought it, and perhaps others after
    it, has it `lead`, and writes all that wait, or waits for its `woken`, and then has the answer
    or leads.
    """

    __slots__ = ("answer", "leads", "record", "woken")

    def __init__(self, record: Record) -> None:
        self.record = record
        self.answer: bool | None = None
        self.leads = False
        self.woken: threading.Lock | None = None


class Journal:
    """A process's journal in `folder`, made when it is first needed; safe for many threads."""

    def __init__(
        self,
        folder: str,
        names: TemporaryNames,
        folders: LocalFolders,
        *,
        longest_bytes: int = LONGEST_BYTES,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._folder = folder
        self._names = names
        self._folders = folders
        self._longest = longest_bytes
        self._quiet = quiet_seconds
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._state = threading.Condition(self._lock)
        self._waiting: list[_Request] = []
        self._at_work = False  # a thread writes; it alone uses the current file then
        self._current: JournalFile | None = None
        self._full: JournalFile | None = None  # its blocks are being synced
        self._spare: JournalFile | None = None
        self._wants_change = False  # the current file shall become full
        self._told = False
        self._failed = False
        self._closed = False
        self._settling = threading.Lock()
        self._settler: threading.Thread | None = None

    def keep(self, path: str, digest: bytes, body: bytes) -> bool:
        """Makes a block durable whose file has just been written at a path relative to the
        store's folder; `digest` is its MD5.

        Returns whether that was done. If not, the file must be synced: the journal cannot be
        written, or is full and its blocks are not synced yet.
        """
        if os.getpid() != self._process:
            return False
        return together(self._keep_all, Record(path, digest, body))

    def holds(self, path: str) -> bool:
        """Returns whether a block's file may not be synced yet."""
        files = (self._current, self._full)
        return (
            any(file is not None and path in file.paths for file in files)
            and os.getpid() == self._process
        )

    def forget(self, path: str) -> None:
        """Notes that a block was deleted, so that it is not brought back; no need to wait."""
        if self.holds(path):
            with self._lock:
                self._waiting.append(_Request(Record(path, bytes(16), None)))

    def settle(self) -> bool:
        """Syncs the files of all blocks that the journal holds, after which it holds none of
        them; returns whether that was done.
        """
        return self._settle_next() and self._settle_next()

    def close(self) -> None:
        """Settles and removes the journal. Blocks are then no more kept here."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._state.notify_all()
            self._state.wait_for(lambda: not self._at_work)
        self.settle()
        with self._lock:
            files = [self._current, self._full, self._spare]
            self._current = self._full = self._spare = None
        for file in files:
            if file is not None:
                _part_with(file)

    def _keep_all(self, records: Sequence[Record]) -> Sequence[bool]:
        """Makes blocks durable that have gathered already, or one."""
        requests = [_Request(record) for record in records]
        first = requests[0]
        with self._lock:
            if self._closed:
                return [False] * len(records)
            self._waiting.extend(requests)
            if self._at_work:
                first.woken = woken = threading.Lock()
                woken.acquire()
            else:
                self._at_work = first.leads = True
        if not first.leads:
            self._wait(requests, woken)
        if first.leads:
            self._lead(first)
        return [request.answer is True for request in requests]

    def _wait(self, requests: list[_Request], woken: threading.Lock) -> None:
        """Waits until requests are answered, all at once, or the first leads."""
        first = requests[0]
        try:
            woken.acquire()
        except BaseException:
            with self._lock:
                leads = first.leads
                if not leads and first in self._waiting:
                    self._waiting = [left for left in self._waiting if left not in requests]
            if leads:
                self._lead(first)
            raise

    def _lead(self, own: _Request) -> None:
        """Writes all records that wait, as the only thread that does, and answers; then another
        leads, if there are more.
        """
        with self._lock:
            group, self._waiting = self._waiting, []
            self._change_if_due()
        kept = False
        try:
            kept = self._append([request.record for request in group])
        finally:
            with self._lock:
                successor = self._successor()
                self._at_work = successor is not None
                if self._wants_change or self._closed:
                    self._state.notify_all()
            for request in group:
                request.answer = kept
                if request.woken is not None and request is not own:
                    request.woken.release()
            if successor is not None and successor.woken is not None:
                successor.woken.release()
        if self._settler is None and kept:
            self._start_settler()

    def _successor(self) -> _Request | None:
        for request in self._waiting:
            if request.woken is not None:
                request.leads = True
                return request
        return None

    def _append(self, records: list[Record]) -> bool:
        file = self._current
        try:
            if file is None:
                file = self._current = new_journal_file(self._folder, self._names)
            if file.length > self._longest or len(file.paths) > MOST_BLOCKS:
                return False  # the one before is not settled yet
            file.append(records)
        except OSError as error:
            if not self._told:
                _log.warning("%s: no journal can be written: %s", self._folder, error.strerror)
            self._told = True
            self._wants_change = file is not None
            return False
        file.paths.update(record.path for record in records)
        return True

    def _change_if_due(self) -> None:
        """Puts the spare file in the place of one that is long enough."""
        file = self._current
        if file is None or self._full is not None:
            return
        if self._wants_change or file.length > self._longest or len(file.paths) > MOST_BLOCKS:
            self._wants_change = False
            self._full, self._current, self._spare = file, self._spare, None
            self._state.notify_all()

    def _start_settler(self) -> None:
        with self._lock:
            if self._settler is None and not self._closed:
                settler = threading.Thread(target=self._tend, name="anabranch-journal", daemon=True)
                settler.start()
                self._settler = settler

    def _tend(self) -> None:
        """The life of the thread that settles a journal: one that is full, quiet or old."""
        seen = looks = 0
        while True:
            with self._lock:
                self._state.wait_for(self._is_due, self._quiet)
                written = 0
                if self._current is not None and self._current.paths:
                    written = self._current.length
                if self._closed or (self._full is None and not written):
                    self._settler = None
                    return
                looks += 1
                due = self._full is not None or written == seen or looks > _MOST_LOOKS
                seen = written
            if due:
                self._settle_next()
                looks = 0

    def _is_due(self) -> bool:
        return self._closed or (self._full is not None and not self._failed)

    def _settle_next(self) -> bool:
        """Settles the journal that is full, or else the current one; returns whether it could."""
        with self._settling:
            with self._lock:
                if self._full is None and self._current is not None and self._current.paths:
                    self._wants_change = True
                    # who leads changes files, too, when his turn comes
                    self._state.wait_for(lambda: self._full is not None or not self._at_work)
                    self._change_if_due()
                file = self._full
            if file is None:
                return True
            try:
                self._settle(file)
            except OSError as error:
                _log.error("%s: blocks cannot be synced: %s", file.path, error.strerror)
                self._failed = True  # it is tried again after a while
                return False
            with self._lock:
                self._failed = False
                self._full = None
                if self._spare is None:
                    self._spare = file
                else:
                    _part_with(file)
            return True

    def _settle(self, file: JournalFile) -> None:
        root = self._folders.path("")
        try:
            sync_files([f"{root}/{path}" for path in file.paths], file.descriptor)
        except OSError as error:
            # what of it failed is not said, and the system tells it once: the journal knows all
            _log.warning("%s: blocks are written again: %s", file.path, error.strerror)
            sync_one_by_one(bring_back(file.records(), self._folders, anew=True).files)
        file.restart()


def _part_with(file: JournalFile) -> None:
    if file.paths:
        file.close()  # it could not be settled: whoever opens the store next does
    else:
        file.remove()
