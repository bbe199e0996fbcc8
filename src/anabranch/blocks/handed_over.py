"""Chunks taken by a thread of their own, for a library that must not be entered while it asks for
them: they may come from that library themselves.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["handed_over"]

_AHEAD = 2
_TICK_SECONDS = 0.1


class _Chunks:
    """What has been taken and not yet given; `failure` is what taking has raised."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self._taken: queue.Queue[bytes | None] = queue.Queue(_AHEAD)
        self._stopped = threading.Event()
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._take, name="chunks", daemon=True)

    def __iter__(self) -> Iterator[bytes]:
        while (chunk := self._taken.get()) is not None:
            yield chunk
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """Takes no more."""
        self._stopped.set()
        self.thread.join()

    def _take(self) -> None:
        try:
            for chunk in self._chunks:
                if not self._give(chunk):
                    return
        except BaseException as failure:  # noqa: BLE001  raised where the chunks are asked for
            self.failure = failure
        self._give(None)

    def _give(self, chunk: bytes | None) -> bool:
        """Returns whether somebody still wants it."""
        while not self._stopped.is_set():
            try:
                self._taken.put(chunk, timeout=_TICK_SECONDS)
            except queue.Full:
                continue
            return True
        return False


@contextmanager
def handed_over(chunks: Iterable[bytes]) -> Iterator[Iterator[bytes]]:
    """Gives the chunks in order. What taking them raises is raised here, whatever is made of it
    within; no chunk is taken any more afterwards.
    """
    taking = _Chunks(chunks)
    taking.thread.start()
    try:
        yield iter(taking)
    except BaseException as error:
        if taking.failure is not None and error is not taking.failure:
            raise taking.failure from error
        raise
    finally:
        taking.stop()
