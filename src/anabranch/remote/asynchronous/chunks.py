"""Chunks of an asynchronous iterable, for a thread that sends them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Event
from typing import Any

__all__ = ["in_threads"]

_CHECK_SECONDS = 1.0
_END: Any = object()


@contextmanager
def in_threads(chunks: Iterable[bytes] | AsyncIterable[bytes]) -> Iterator[Iterable[bytes]]:
    """Gives chunks that a thread can read while the loop runs. After the block they end by
    RuntimeError, so that a thread never waits for a loop that has gone on.
    """
    if not isinstance(chunks, AsyncIterable):
        yield chunks
        return
    is_over = Event()
    try:
        yield _from_loop(chunks, asyncio.get_running_loop(), is_over)
    finally:
        is_over.set()


def _from_loop(
    chunks: AsyncIterable[bytes], loop: asyncio.AbstractEventLoop, is_over: Event
) -> Iterator[bytes]:
    source = aiter(chunks)

    async def following() -> Any:
        return await anext(source, _END)

    while True:
        chunk = _wait(asyncio.run_coroutine_threadsafe(following(), loop), is_over)
        if chunk is _END:
            return
        yield chunk


def _wait(future: Future[Any], is_over: Event) -> Any:
    while True:
        try:
            return future.result(_CHECK_SECONDS)
        except TimeoutError:
            if future.done():
                raise  # of the iterable itself
            if is_over.is_set():
                future.cancel()
                raise RuntimeError("the upload was cancelled") from None
