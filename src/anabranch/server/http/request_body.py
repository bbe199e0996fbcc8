"""Stream of a request's body. Its reader receives the complete body, or Truncated if the body is
interrupted or its length differs from the head's.

The connection feeds it on the event loop. Coroutines read it there, or one thread iterates over it.
Backpressure limits memory: the connection is not read while too much of the body is unread.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from anabranch.errors import Invalid, Truncated
from anabranch.spent_time import SpentTime

__all__ = ["IDLE_SECONDS", "RequestBody", "require_length"]

IDLE_SECONDS = 120.0
"""Read timeout: how long a client may send nothing while its body is awaited."""
MAX_WAITING_BYTES = 1 << 20
PIECE_BYTES = 512 << 10
"""How many bytes are collected before a thread is woken, since waking it costs CPU time."""


class RequestBody:
    """A body of `length` bytes, None for a chunked body. `flow` is called with False to pause
    reading from the connection, when `max_waiting` bytes are buffered, and with True to resume.
    What the reader waits for the client is added to `spent`.
    """

    def __init__(
        self,
        length: int | None,
        flow: Callable[[bool], None],
        *,
        idle_seconds: float = IDLE_SECONDS,
        max_waiting: int = MAX_WAITING_BYTES,
        piece: int = PIECE_BYTES,
        spent: SpentTime | None = None,
    ) -> None:
        self._length = length
        self._flow = flow
        self._idle_seconds = idle_seconds
        self._max_waiting = max_waiting
        self._piece = min(piece, max_waiting)
        self._enough = 1  # bytes that a thread waits for
        self._loop = asyncio.get_running_loop()
        self._spent = spent or SpentTime()
        self._changed = threading.Condition()
        self._chunks: deque[bytes] = deque()
        self._waiting = 0  # bytes in the queue
        self._received = 0  # bytes
        self._is_paused = False
        self._error: Exception | None = None
        self._arrival: asyncio.Future[None] | None = None
        self._awaited = 1  # bytes that a coroutine waits for
        self.complete = False
        """Whether nothing more of the body will arrive."""

    def feed(self, chunk: bytes) -> None:
        """Adds bytes that have arrived."""
        with self._changed:
            if self.complete or not chunk:
                return
            self._chunks.append(chunk)
            self._received += len(chunk)
            self._waiting += len(chunk)
            pause = self._waiting >= self._max_waiting and not self._is_paused
            self._is_paused = self._is_paused or pause
            if self._waiting >= self._enough:
                self._changed.notify()
        if pause:
            self._flow(False)
        if self._waiting >= self._awaited:
            self._wake()

    def end(self) -> None:
        """Ends the body, which fails if its length differs from the declared one."""
        try:
            if self._length is not None:
                require_length(self._received, self._length)
        except Truncated as error:
            self._finish(error)
        else:
            self._finish(None)

    def fail(self, error: Exception) -> None:
        """Ends the body with an error, which its reader gets after the bytes received before."""
        self._finish(error)

    async def more(self) -> bytes:
        """Returns the next bytes, `b""` at the end. Raises Truncated."""
        while not self._waiting and not self.complete:
            try:
                await self._arrive()
            except TimeoutError:
                raise self._idle() from None
        return self._taken()

    async def gather(self, size: int) -> None:
        """Waits until so many bytes, or the rest, have arrived, and leaves them in the buffer.
        Raises Truncated if nothing arrives for too long.
        """
        size = min(size, self._max_waiting)
        self._awaited = size
        try:
            while self._waiting < size and not self.complete:
                received = self._received
                try:
                    await self._arrive()
                except TimeoutError:
                    if received == self._received:
                        raise self._idle() from None
        finally:
            self._awaited = 1

    async def begin(self, is_enough: Callable[[bytes], bool]) -> None:
        """Waits until `is_enough` is true for the received bytes, or for the end; the bytes remain
        in the buffer. It is not called for every small chunk, to bound its cost.
        """
        beginning, checked = b"", 0
        while chunk := await self.more():
            beginning += chunk
            if len(beginning) >= checked + checked // 4:
                if is_enough(beginning):
                    break
                checked = len(beginning)
        with self._changed:
            self._chunks.appendleft(beginning)
            self._waiting += len(beginning)

    async def read(self, limit: int) -> bytes:
        """Returns the whole body. Raises Invalid for one of more than `limit` bytes."""
        chunks: list[bytes] = []
        length = 0
        while chunk := await self.more():
            chunks.append(chunk)
            length += len(chunk)
            if length > limit:
                raise Invalid(
                    f"request body has an error: longer than {limit} bytes", kind="body_too_large"
                )
        return b"".join(chunks)

    async def _arrive(self) -> None:
        self._arrival = self._loop.create_future()
        began = time.perf_counter()
        try:
            await asyncio.wait_for(self._arrival, self._idle_seconds)
        finally:
            self._spent.client += time.perf_counter() - began

    def __iter__(self) -> Iterator[bytes]:
        """Yields the body to a thread, first the bytes that have already arrived, then pieces of
        about `piece` bytes. Raises the error that interrupted the body.
        """
        while chunk := self._next():
            yield chunk
            self._enough = self._piece
        if self._error is not None:
            raise self._error

    def _next(self) -> bytes:
        with self._changed:
            while self._waiting < self._enough and not self.complete:
                received = self._received
                began = time.perf_counter()
                has_changed = self._changed.wait(self._idle_seconds)
                self._spent.client += time.perf_counter() - began
                if not has_changed and received == self._received:
                    raise self._idle()
            chunk = self._take()
            is_paused = self._is_paused
        if is_paused:
            self._loop.call_soon_threadsafe(self._resume)
        return chunk

    def _taken(self) -> bytes:
        with self._changed:
            chunk = self._take()
        if not chunk and self._error is not None:
            raise self._error
        self._resume()
        return chunk

    def _take(self) -> bytes:
        chunk = self._chunks.popleft() if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._waiting = 0
        return chunk

    def _resume(self) -> None:
        if self._is_paused and self._waiting < self._max_waiting:
            self._is_paused = False
            self._flow(True)

    def _finish(self, error: Exception | None) -> None:
        with self._changed:
            if self.complete:
                return
            self.complete = True
            self._error = error
            self._changed.notify()
        self._wake()

    def _wake(self) -> None:
        if self._arrival is not None and not self._arrival.done():
            self._arrival.set_result(None)

    def _idle(self) -> Truncated:
        return Truncated(
            f"no byte of the body came for {self._idle_seconds:.0f} seconds", kind="idle"
        )


def require_length(received: int, length: int) -> None:
    """Raises Truncated for a body whose length differs from the declared one."""
    if received != length:
        raise Truncated(f"the body has {received} bytes, its Content-Length is {length}")
