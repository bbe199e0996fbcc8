"""Copies of the bytes of a transfer's objects, which a repository gets from another one.

A transfer first writes the source's entries, as they are, into an area that no branch names yet.
Their bytes are then copied in the store, page by page, in the order of their keys, and the entries
are replaced by those of the copies.

Nothing refers to the copies until the branch names the area. Garbage collection leaves them alone
for its grace period of a day, as it does uploads, and a transfer must have ended long before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from anabranch import _kernel as kernel
from anabranch.errors import Busy
from anabranch.keyvalue.contract import KeyValueStore
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.versioning.records.entries import entry_from, entry_value
from anabranch.versioning.staging.area import Staging

__all__ = ["MAX_COPY_SECONDS", "AreaCopier", "EntryCopies"]

MAX_COPY_SECONDS = 12 * 3600.0
"""How long the bytes of a transfer may be copied, which is less than the grace period."""

_THREADS = 8
_PAGE = 1000


class EntryCopies(Protocol):
    """Copies the bytes of entries within a store. Safe for use from many threads."""

    def copy(self, entry: Entry, source: Repository, destination: Repository) -> Entry:
        """Returns an entry of the destination with bytes of its own, at a relative address. Raises
        Gone if the bytes are missing, and what the store raises; nothing is stored then.
        """

    def discard(self, entries: Sequence[Entry], repository: Repository) -> None:
        """Removes the bytes of copies that nothing refers to."""


class AreaCopier:
    """Copies the bytes of the entries of a source in a staging area that no branch names. `clock`
    returns seconds since 1970.
    """

    def __init__(
        self,
        keyvalue: KeyValueStore,
        staging: Staging,
        copies: EntryCopies,
        clock: Callable[[], float],
        *,
        source: Repository,
        destination: Repository,
        token: str,
    ) -> None:
        self._keyvalue = keyvalue
        self._staging = staging
        self._copies = copies
        self._clock = clock
        self._source = source
        self._destination = destination
        self._token = token
        self._copied_until: bytes | None = None
        """The last key of the pages that are copied."""

    def run(self) -> None:
        """Replaces all entries by copies. Raises Gone for missing bytes, Busy if it takes more than
        MAX_COPY_SECONDS, and what the store raises; `discard` removes what was copied until then.
        """
        ends_at = self._clock() + MAX_COPY_SECONDS
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="anabranch-copy") as pool:
            for page in self._pages():
                copies = self._copy(pool, page)
                try:
                    self._keyvalue.apply(
                        [
                            self._staging.write(self._token, key, entry_value(copy))
                            for (key, _), copy in zip(page, copies, strict=True)
                        ]
                    )
                except BaseException:
                    self._copies.discard(copies, self._destination)
                    raise
                self._copied_until = page[-1][0]
                if self._clock() >= ends_at:
                    raise Busy(
                        f"copying took longer than {MAX_COPY_SECONDS / 3600:.0f} hours",
                        kind="transfer_too_long",
                        hint="Copy smaller folders, one after the other.",
                    )

    def discard(self) -> None:
        """Removes the bytes that were copied."""
        for page in self._pages():
            if self._copied_until is None or page[0][0] > self._copied_until:
                return
            self._copies.discard([entry for _, entry in page], self._destination)

    def _pages(self) -> Iterator[list[tuple[bytes, Entry]]]:
        start, last = b"", False
        while not last:
            rows, last = self._staging.chunk([self._token], start, None, _PAGE)
            page = []
            for key, record in rows:
                value = kernel.decode_staged(record)[1]
                if value is not None:
                    page.append((key, entry_from(value)))
            if page:
                yield page
            if rows:
                start = rows[-1][0] + b"\0"

    def _copy(
        self, pool: ThreadPoolExecutor, page: Sequence[tuple[bytes, Entry]]
    ) -> Sequence[Entry]:
        """Returns the copies of a page. If one fails, the others are removed."""
        futures = [
            pool.submit(self._copies.copy, entry, self._source, self._destination)
            for _, entry in page
        ]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            copied = [
                future.result()
                for future in futures
                if not future.cancelled() and future.exception() is None
            ]
            self._copies.discard(copied, self._destination)
            raise
