"""Moves of branches whose writes are under way.

A write takes as long as the disk, and nothing else is to be decided meanwhile: the next change of
the branch can be made on top of the commit that the write adds. Its own write expects the branch as
the one before leaves it, so it is made after that or not at all, and a client is answered when its
own write is made. So of many changes of a branch only the making is done one after another; their
writes share transactions and syncs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from anabranch.model.commits.commit import Commit
from anabranch.versioning.references.branches import StoredBranch

__all__ = ["BranchKey", "Move", "Moves"]

BranchKey = tuple[str, str]
"""The partition of a repository, and the name of a branch."""

_MAX_BRANCHES = 1_024


class Move:
    """A move of a branch: `stored` is the branch after it. `before` is the move that it follows, if
    that was under way. `placed` is set when a write that is begun from then on comes later.
    """

    def __init__(
        self, stored: StoredBranch, commits: Sequence[Commit], before: Move | None
    ) -> None:
        self.stored = stored
        self.commits = commits
        self.placed = threading.Event()
        self._before = before
        self._ended = threading.Event()
        self._is_made = False

    @property
    def head(self) -> Commit:
        """The commit to which the branch moves."""
        return self.commits[0]

    def under_way(self) -> list[Move]:
        """Returns this move and those that it follows, unless they have ended."""
        moves: list[Move] = []
        move: Move | None = self
        while move is not None:
            moves.append(move)
            move = move._before  # noqa: SLF001  of this class
        return moves

    def is_vain(self) -> bool:
        """Returns whether it follows a move that was not made, or was not made itself."""
        return any(
            move._ended.is_set() and not move._is_made  # noqa: SLF001  of this class
            for move in self.under_way()
        )

    def wait(self) -> bool:
        """Waits until the move has ended; returns whether it was made."""
        self._ended.wait()
        return self._is_made

    def end(self, *, is_made: bool) -> None:
        """Notes that the write has ended."""
        self._is_made = is_made
        self.placed.set()
        self._ended.set()
        if is_made:
            self._before = None  # which was made before


class Moves:
    """The last moves of branches. Safe for use from many threads; a branch's moves are begun by one
    at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[BranchKey, Move] = {}
        self._last: OrderedDict[BranchKey, bytes] = OrderedDict()

    def last(self, key: BranchKey) -> Move | None:
        """Returns the last move of a branch, if it is under way."""
        return self._under_way.get(key)

    def is_outdated(self, key: BranchKey, known: StoredBranch) -> bool:
        """Returns whether a branch was read before this process has moved it; of branches that were
        not moved lately, this is unknown.
        """
        last = self._last.get(key)
        return last is not None and last != known.record

    def begin(self, key: BranchKey, move: Move) -> None:
        """Adds a move."""
        with self._lock:
            self._under_way[key] = move

    def end(self, key: BranchKey, move: Move, *, is_made: bool) -> None:
        """Notes that the write of a move has ended."""
        move.end(is_made=is_made)
        with self._lock:
            if self._under_way.get(key) is move:
                del self._under_way[key]
            if is_made:
                self._last[key] = move.stored.record
                self._last.move_to_end(key)
                if len(self._last) > _MAX_BRANCHES:
                    self._last.popitem(last=False)
