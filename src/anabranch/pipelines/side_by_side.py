"""Work side by side: batches in threads, results in order, only a few of them waiting.

NumPy, Arrow and the kernel let other threads go on while they work.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["THREADS", "side_by_side"]

THREADS = min(4, os.cpu_count() or 1)

Given = TypeVar("Given")
Made = TypeVar("Made")


def side_by_side(
    work: Callable[[Given], Made],
    items: Iterable[Given],
    *,
    threads: int = THREADS,
    ahead: int = 2 * THREADS,
) -> Iterator[Made]:
    """Yields what `work` makes of each item. Items are taken in the caller's thread, and at most
    `ahead` more than have been asked for.
    """
    waiting: deque[Future[Made]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()
