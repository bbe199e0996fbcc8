"""Write-ahead journal of small blocks: one sync makes many of them durable (group commit).

The file of a small block is written without a sync, and its bytes are appended to the process's
journal. Blocks that arrive during a sync share the next one; no block waits for others to arrive. A
background thread later syncs the files of a full segment together (checkpoint) and reuses the
segment; another segment takes the new records meanwhile.

    put ─── file written ─── appended, journal synced ─── acknowledged
                                                             ⋮
                                   segment reused ─── files synced
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence

from anabranch.batching.group_commit import GroupCommit
from anabranch.blocks.local.files import TemporaryNames
from anabranch.blocks.local.folders import LocalFolders
from anabranch.blocks.local.fsync import sync_files, sync_individually
from anabranch.blocks.local.journal.record_format import Record
from anabranch.blocks.local.journal.recovery import restore_blocks
from anabranch.blocks.local.journal.segment import Segment, create_segment
from anabranch.errors import Busy

__all__ = ["MAX_JOURNAL_BYTES", "Journal"]

MAX_JOURNAL_BYTES = 16 << 20
"""Length of a segment at which its blocks are synced and it is reused."""
MAX_JOURNAL_BLOCKS = 20_000
QUIET_INTERVAL = 2.0
_MAX_DEFERRALS = 30
"""Maximum number of quiet intervals for which the checkpoint of a growing segment is deferred."""

_log = logging.getLogger(__name__)


class Journal:
    """The journal of a process, in `folder`, created on first use. Safe for use from many
    threads.
    """

    def __init__(
        self,
        folder: str,
        names: TemporaryNames,
        folders: LocalFolders,
        *,
        max_bytes: int = MAX_JOURNAL_BYTES,
        quiet_interval: float = QUIET_INTERVAL,
    ) -> None:
        self._folder = folder
        self._names = names
        self._folders = folders
        self._max_bytes = max_bytes
        self._quiet_interval = quiet_interval
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._state = threading.Condition(self._lock)
        self._appends: GroupCommit[Record, bool] = GroupCommit(
            self._append_group, name="anabranch-journal-writer"
        )
        self._is_writing = False  # the thread that appends alone uses the current segment
        self._current: Segment | None = None
        self._full: Segment | None = None  # is being checkpointed
        self._spare: Segment | None = None
        self._rotate_requested = False  # the current segment must be checkpointed
        self._has_warned = False
        self._failed = False
        self._closed = False
        self._checkpoint_lock = threading.Lock()
        self._checkpointer: threading.Thread | None = None

    def append_durable(self, path: str, digest: bytes, body: bytes) -> bool:
        """Makes a block durable whose file was just written at a path relative to the store's
        folder; `digest` is its MD5.

        Returns False if the caller must sync the file itself, because the journal cannot be written
        or its segments are full.
        """
        return self.append_all_durable([Record(path, digest, body)])

    def append_all_durable(self, records: Sequence[Record]) -> bool:
        """Makes several blocks durable like `append_durable`, together."""
        if os.getpid() != self._process:
            return False
        try:
            if len(records) == 1:
                return self._appends.submit(records[0])
            return all(self._appends.submit_all(records))
        except Busy:  # closed, or another thread's exception interrupted the group
            return False

    def is_pending(self, path: str) -> bool:
        """Returns whether the file of a block may not be synced yet."""
        files = (self._current, self._full)
        return (
            any(file is not None and path in file.paths for file in files)
            and os.getpid() == self._process
        )

    def tombstone(self, path: str) -> bool:
        """Records that a block was deleted, so that it is not restored. Does not wait. Returns
        False for a shared block, which only a checkpoint forgets: in the journal its deletion might
        follow its being stored again.
        """
        if not self.is_pending(path):
            return True
        if self._is_shared(path):
            return False
        self._appends.note(Record(path, bytes(16), None))
        return True

    def _is_shared(self, path: str) -> bool:
        files = (self._current, self._full)
        return any(file is not None and path in file.shared for file in files)

    def checkpoint(self) -> bool:
        """Syncs the files of all blocks in the journal and empties it; returns whether it
        succeeded.
        """
        return self._checkpoint_next() and self._checkpoint_next()

    def close(self) -> None:
        """Checkpoints and removes the journal, which accepts no more blocks."""
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._state.notify_all()
        self._appends.close()
        self.checkpoint()
        with self._lock:
            files = [self._current, self._full, self._spare]
            self._current = self._full = self._spare = None
        for file in files:
            if file is not None:
                _dispose(file)

    def _append_group(self, records: Sequence[Record]) -> Sequence[bool]:
        """Appends the records of a group and returns for each whether it is durable."""
        with self._lock:
            self._rotate_if_due()
            self._is_writing = True
        is_durable = False
        try:
            is_durable = self._append(records)
        finally:
            with self._lock:
                self._is_writing = False
                if self._rotate_requested or self._closed:
                    self._state.notify_all()
        if self._checkpointer is None and is_durable:
            self._start_checkpointer()
        return [is_durable] * len(records)

    def _append(self, records: Sequence[Record]) -> bool:
        file = self._current
        try:
            if file is None:
                file = self._current = create_segment(self._folder, self._names)
            if file.length > self._max_bytes or len(file.paths) > MAX_JOURNAL_BLOCKS:
                return False  # the previous segment is not checkpointed yet
            file.append(records)
        except OSError as error:
            if not self._has_warned:
                _log.warning("%s: the journal cannot be written: %s", self._folder, error.strerror)
            self._has_warned = True
            self._rotate_requested = file is not None
            return False
        file.paths.update(record.path for record in records)
        file.shared.update(record.path for record in records if record.shared)
        return True

    def _rotate_if_due(self) -> None:
        """Replaces a full segment by the spare one."""
        file = self._current
        if file is None or self._full is not None:
            return
        if (
            self._rotate_requested
            or file.length > self._max_bytes
            or len(file.paths) > MAX_JOURNAL_BLOCKS
        ):
            self._rotate_requested = False
            self._full, self._current, self._spare = file, self._spare, None
            self._state.notify_all()

    def _start_checkpointer(self) -> None:
        with self._lock:
            if self._checkpointer is None and not self._closed:
                checkpointer = threading.Thread(
                    target=self._checkpoint_loop, name="anabranch-journal", daemon=True
                )
                checkpointer.start()
                self._checkpointer = checkpointer

    def _checkpoint_loop(self) -> None:
        """Checkpoints a segment when it is full, unchanged for an interval, or deferred too
        often.
        """
        previous_length = deferrals = 0
        while True:
            with self._lock:
                self._state.wait_for(self._is_due, self._quiet_interval)
                written = 0
                if self._current is not None and self._current.paths:
                    written = self._current.length
                if self._closed or (self._full is None and not written):
                    self._checkpointer = None
                    return
                deferrals += 1
                due = (
                    self._full is not None
                    or written == previous_length
                    or deferrals > _MAX_DEFERRALS
                )
                previous_length = written
            if due:
                self._checkpoint_next()
                deferrals = 0

    def _is_due(self) -> bool:
        return self._closed or (self._full is not None and not self._failed)

    def _checkpoint_next(self) -> bool:
        """Checkpoints the full segment, or else the current one; returns whether it succeeded."""
        with self._checkpoint_lock:
            with self._lock:
                if self._full is None and self._current is not None and self._current.paths:
                    self._rotate_requested = True
                    # the next group may rotate the segments as well
                    self._state.wait_for(lambda: self._full is not None or not self._is_writing)
                    self._rotate_if_due()
                file = self._full
            if file is None:
                return True
            try:
                self._checkpoint(file)
            except OSError as error:
                _log.error("%s: blocks cannot be synced: %s", file.path, error.strerror)
                self._failed = True  # retried after the interval
                return False
            with self._lock:
                self._failed = False
                self._full = None
                if self._spare is None:
                    self._spare = file
                else:
                    _dispose(file)
            return True

    def _checkpoint(self, file: Segment) -> None:
        root = self._folders.path("")
        try:
            sync_files([f"{root}/{path}" for path in file.paths], file.descriptor)
        except OSError as error:
            # the system reports a failure once, without the file: the segment has all of them
            _log.warning("%s: blocks are rewritten: %s", file.path, error.strerror)
            sync_individually(restore_blocks(file.records(), self._folders, rewrite_all=True).files)
        file.restart()


def _dispose(file: Segment) -> None:
    if file.paths:
        file.close()  # the checkpoint failed, so the next opening of the store recovers it
    else:
        file.remove()
