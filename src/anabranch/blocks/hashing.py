"""Checksums of a body, computed while it is read and stored.

A large body is hashed in a separate thread, because hashing takes most of an upload's time and
releases the interpreter lock. A small body is hashed by the caller.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from queue import SimpleQueue
from typing import Protocol, Self

__all__ = ["BackgroundHasher", "Hasher"]

_MIN_THREAD_BYTES = 256 * 1024
_MAX_QUEUED = 2
"""Maximum number of pieces that wait for the thread, which limits their memory."""


class Hasher(Protocol):
    """Incremental checksum, like those of hashlib."""

    def update(self, data: bytes, /) -> None:
        """Adds data."""

    def digest(self) -> bytes:
        """Returns the checksum of all data."""


class BackgroundHasher:
    """Feeds pieces to hashers. Their digests are complete after `finish`, or after the `with`
    block.

    A piece of 256 KiB or more starts the thread, because a body in such pieces is large.
    """

    def __init__(self, hashers: Iterable[Hasher]) -> None:
        self._hashers = tuple(hashers)
        self._thread: _Thread | None = None

    def update(self, piece: bytes) -> None:
        """Adds a piece; waits while too many are not hashed yet."""
        if self._thread is not None:
            self._thread.put(piece)
        elif len(piece) < _MIN_THREAD_BYTES:
            for hasher in self._hashers:
                hasher.update(piece)
        elif self._hashers:
            self._thread = _Thread(self._hashers)
            self._thread.put(piece)

    def finish(self) -> None:
        """Waits until all pieces are hashed. Raises what a hasher raised."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.finish()


class _Thread:
    """Hashing thread and its queue."""

    def __init__(self, hashers: tuple[Hasher, ...]) -> None:
        self._hashers = hashers
        self._pieces: SimpleQueue[bytes | None] = SimpleQueue()
        self._slots = threading.Semaphore(_MAX_QUEUED)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="hashing", daemon=True)
        self._thread.start()

    def put(self, piece: bytes) -> None:
        self._slots.acquire()
        self._pieces.put(piece)

    def finish(self) -> None:
        self._pieces.put(None)
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        while (piece := self._pieces.get()) is not None:
            try:
                if self._error is None:
                    for hasher in self._hashers:
                        hasher.update(piece)
            except BaseException as error:  # noqa: BLE001  raised in `finish`
                self._error = error
            self._slots.release()
