"""Checksums of a body, computed beside whoever reads and stores it.

A large body is hashed by a thread of its own: hashing is what an upload's time goes into, and it
leaves the interpreter to others meanwhile. A small one is hashed at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from queue import SimpleQueue
from typing import Protocol, Self

__all__ = ["Hasher", "Hashing"]

_LARGE = 256 * 1024
_AHEAD = 2
"""How many pieces may wait for the thread, which bounds the memory that they take."""


class Hasher(Protocol):
    """A checksum being computed, like those of hashlib."""

    def update(self, data: bytes, /) -> None:
        """Takes in what follows."""

    def digest(self) -> bytes:
        """Returns the checksum of all that was taken in."""


class Hashing:
    """Feeds pieces to hashers; their digests are those of the body after `finish`, or the `with`.

    A piece of 256 KiB or more begins the thread, since a body that comes in such pieces is large.
    """

    def __init__(self, hashers: Iterable[Hasher]) -> None:
        self._hashers = tuple(hashers)
        self._thread: _Thread | None = None

    def update(self, piece: bytes) -> None:
        """Takes in what follows; waits while too much of it is not hashed yet."""
        if self._thread is not None:
            self._thread.put(piece)
        elif len(piece) < _LARGE:
            for hasher in self._hashers:
                hasher.update(piece)
        elif self._hashers:
            self._thread = _Thread(self._hashers)
            self._thread.put(piece)

    def finish(self) -> None:
        """Returns when everything has been taken in; raises what kept a hasher from it."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.finish()


class _Thread:
    """A thread, and the pieces that wait for it."""

    def __init__(self, hashers: tuple[Hasher, ...]) -> None:
        self._hashers = hashers
        self._pieces: SimpleQueue[bytes | None] = SimpleQueue()
        self._room = threading.Semaphore(_AHEAD)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="hashing", daemon=True)
        self._thread.start()

    def put(self, piece: bytes) -> None:
        self._room.acquire()
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
            except BaseException as error:  # noqa: BLE001  it is raised in `finish`
                self._error = error
            self._room.release()
