"""Concurrent transfers: a bounded number of threads processes a list of any length.

Items are taken from the list only when a thread is free, so the list may be a listing that is still
being fetched. Failures are collected. After several failures no further item is started, because a
server that rejects ten objects will reject the next ones as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from anabranch.cli.errors import Failure, file_failure
from anabranch.cli.output.transfer_progress import Progress

__all__ = ["Transfer"]

_MOST_FAILURES = 10
_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


class Transfer:
    """The transfers of one command: their progress and their failures."""

    def __init__(self, progress: Progress) -> None:
        self.expect = progress.expect
        self._progress = progress
        self._failures: dict[str, Failure] = {}
        self._stopped = False

    def advance(self, size: int) -> None:
        """Records that `size` bytes were transferred. Raises Failure after the transfers were
        stopped.
        """
        if self._stopped:
            raise Failure("given up", kind="cancelled")
        self._progress.advance(size)

    def fail(self, path: str, failure: Failure) -> None:
        """Records that an object could not be transferred."""
        self._failures[path] = failure

    def each(
        self,
        work: Iterable[_Work],
        do: Callable[[_Work], _Result],
        *,
        workers: int,
        path: Callable[[_Work], str],
    ) -> Iterator[_Result]:
        """Yields the results of `do` for each item, in order of completion. Failures, also those of
        files, are recorded under the `path` of the item.
        """
        pending: dict[Future[_Result], _Work] = {}
        items = iter(work)
        with ThreadPoolExecutor(workers) as pool:
            try:
                while True:
                    while len(pending) < 2 * workers and len(self._failures) < _MOST_FAILURES:
                        try:
                            item = next(items)
                        except StopIteration:
                            break
                        pending[pool.submit(do, item)] = item
                    if not pending:
                        return
                    for future in wait(pending, return_when=FIRST_COMPLETED).done:
                        item = pending.pop(future)
                        if (failure := _to_failure(future)) is not None:
                            self.fail(path(item), failure)
                        else:
                            yield future.result()
            finally:
                # not empty only after an interrupt: then threads stop at their next chunk
                self._stopped = bool(pending)
                for future in pending:
                    future.cancel()

    def finish(self, verb: str) -> None:
        """Raises Failure if any transfer failed: the single failure itself, or one that lists all
        of them.
        """
        if not self._failures:
            return
        first = next(iter(self._failures.values()))
        if len(self._failures) == 1:
            raise first
        lines = [f"{path}: {failure.message}" for path, failure in self._failures.items()]
        raise Failure(
            f"{len(lines)} objects could not be {verb}",
            kind=first.kind,
            hint=first.hint,
            where=first.where,
            status=first.status,
            paths=lines,
        )


def _to_failure(future: Future[_Result]) -> Failure | None:
    error = future.exception()
    if error is None:
        return None
    if isinstance(error, Failure):
        return error
    if isinstance(error, OSError):
        return file_failure(error)
    raise error
