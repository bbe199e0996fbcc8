"""Iteration in a separate thread, for a library that is not reentrant: the chunks that it consumes
may themselves come from it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

__all__ = ["iterate_in_thread"]

_QUEUE_SIZE = 2
_PUT_TIMEOUT = 0.1


class _Producer:
    """Thread that iterates over chunks, and its queue; `failure` is what the iteration raised."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self._queue: queue.Queue[bytes | None] = queue.Queue(_QUEUE_SIZE)
        self._stopped = threading.Event()
        self.failure: BaseException | None = None
        self.thread = threading.Thread(target=self._produce, name="chunks", daemon=True)

    def __iter__(self) -> Iterator[bytes]:
        while (chunk := self._queue.get()) is not None:
            yield chunk
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """Stops the thread."""
        self._stopped.set()
        self.thread.join()

    def _produce(self) -> None:
        try:
            for chunk in self._chunks:
                if not self._enqueue(chunk):
                    return
        except BaseException as failure:  # noqa: BLE001  raised in the consumer
            self.failure = failure
        self._enqueue(None)

    def _enqueue(self, chunk: bytes | None) -> bool:
        """Returns whether the consumer still needs chunks."""
        while not self._stopped.is_set():
            try:
                self._queue.put(chunk, timeout=_PUT_TIMEOUT)
            except queue.Full:
                continue
            return True
        return False


@contextmanager
def iterate_in_thread(chunks: Iterable[bytes]) -> Iterator[Iterator[bytes]]:
    """Gives an iterator of the chunks, which a thread produces, and stops that thread at the end.

    Raises what `chunks` raises, even if the library inside replaces it with an error of its own.
    """
    producer = _Producer(chunks)
    producer.thread.start()
    try:
        yield iter(producer)
    except BaseException as error:
        if producer.failure is not None and error is not producer.failure:
            raise producer.failure from error
        raise
    finally:
        producer.stop()
