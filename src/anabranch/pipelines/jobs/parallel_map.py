"""Parallel map over batches: threads work on them, results keep their order, memory is bounded.

NumPy, Arrow and the kernel release the GIL while they work.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["THREADS", "parallel_map"]

THREADS = min(4, os.cpu_count() or 1)

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int = THREADS,
    ahead: int | None = None,
) -> Iterator[Result]:
    """Yields `work(item)` for each item, in order. Items are read in the caller's thread, at most
    `ahead` of the last result that was yielded: by default two for each thread.
    """
    ahead = 2 * threads if ahead is None else ahead
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
