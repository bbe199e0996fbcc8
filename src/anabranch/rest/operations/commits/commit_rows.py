"""The rows of logs as JSON. A commit never changes, so its row is made once and kept.

Making the rows of a log took more than finding its commits.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from anabranch.brevity import BriefBytes
from anabranch.model.commits.commit import Commit
from anabranch.rest.operations.commits.commits import to_commit
from anabranch.rest.protocol.responses import encode

__all__ = ["CommitRows"]

_MAX_BYTES = 8 << 20
_MAX_ROW_BYTES = 4 << 10


class CommitRows:
    """Keeps rows of up to 4 KiB, of at most `max_bytes` together. Safe for use from many threads.

    A row is kept together with the commit that it was made from, and used for that very object
    alone: a record that was read again, or that another repository has under the same id, gets a
    row of its own.
    """

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[str, tuple[Commit, bytes]] = {}
        self._kept_bytes = 0
        self._lock = threading.Lock()  # taken to change what is kept, not to look it up

    def join(self, commits: Iterable[Commit], before: bytes = b"", after: bytes = b"") -> bytes:
        """Returns the commits as a JSON list, between other bytes: a log of a thousand is long, and
        to copy it again takes as long as to find its commits. Raises TakesLong where the call must
        be brief and the rows to make are long.
        """
        find, made = self._kept.get, BriefBytes()
        rows = []
        for commit in commits:
            kept = find(commit.id)
            if kept is not None and kept[0] is commit:
                rows.append(kept[1])
                continue
            rows.append(self._make(commit))
            made.add(len(rows[-1]))
        if not rows:
            return before + b"[]" + after
        rows[0] = b"%b[%b" % (before, rows[0])
        rows[-1] = b"%b]%b" % (rows[-1], after)
        return b",".join(rows)

    @property
    def kept_bytes(self) -> int:
        """The size of all rows that are kept."""
        return self._kept_bytes

    def _make(self, commit: Commit) -> bytes:
        row = encode(to_commit(commit))
        if len(row) <= min(_MAX_ROW_BYTES, self._max_bytes):
            with self._lock:
                replaced = self._kept.pop(commit.id, None)
                if replaced is not None:
                    self._kept_bytes -= len(replaced[1])
                self._kept_bytes += len(row)
                while self._kept_bytes > self._max_bytes:
                    _, removed = self._kept.pop(next(iter(self._kept)))
                    self._kept_bytes -= len(removed)
                self._kept[commit.id] = commit, row
        return row
