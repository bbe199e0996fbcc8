"""Many transfers at a time: a bounded number of threads works through a list of any length.

No more work is taken from the list than the threads can begin, so the list may be a listing that
is still being fetched. What fails is collected, and after some failures nothing more is begun:
a server that refuses ten objects will refuse the ten thousandth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from anabranch.cli.failure import Failure, file_failure
from anabranch.cli.progress import Progress

__all__ = ["Transfer"]

_MOST_FAILURES = 10
_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


class Transfer:
    """One command's transfers: how far they are and what went wrong."""

    def __init__(self, progress: Progress) -> None:
        self.expect = progress.expect
        self._progress = progress
        self._failures: dict[str, Failure] = {}
        self._stopped = False

    def advance(self, size: int) -> None:
        """Notes that `size` bytes have gone; raises Failure once the transfers are given up."""
        if self._stopped:
            raise Failure("given up", kind="cancelled")
        self._progress.advance(size)

    def fail(self, path: str, failure: Failure) -> None:
        """Notes that an object could not be dealt with."""
        self._failures[path] = failure

    def each(
        self,
        work: Iterable[_Work],
        do: Callable[[_Work], _Result],
        *,
        workers: int,
        path: Callable[[_Work], str],
    ) -> Iterator[_Result]:
        """Yields what `do` returns for each piece of work, as it gets done. Failures and errors
        of files are noted under the `path` of their piece.
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
                        if (failure := _failure_of(future)) is not None:
                            self.fail(path(item), failure)
                        else:
                            yield future.result()
            finally:
                # empty unless interrupted: then threads stop at their next chunk
                self._stopped = bool(pending)
                for future in pending:
                    future.cancel()

    def finish(self, verb: str) -> None:
        """Raises Failure if anything failed: the only failure as it is, or all in one."""
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


def _failure_of(future: Future[_Result]) -> Failure | None:
    error = future.exception()
    if error is None:
        return None
    if isinstance(error, Failure):
        return error
    if isinstance(error, OSError):
        return file_failure(error)
    raise error
