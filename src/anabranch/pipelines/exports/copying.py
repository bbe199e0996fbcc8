"""Copying: an object's bytes come to a place, and are what was stored."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects import OpenObject
from anabranch.errors import AnabranchError, Corrupt, Invalid
from anabranch.model.names import path_of
from anabranch.model.repository import Repository
from anabranch.pipelines.exports.checksums import md5_of
from anabranch.pipelines.exports.destination import UNFIT, Destination
from anabranch.pipelines.exports.state import STATE
from anabranch.versioning.entries import entry_from
from anabranch.versioning.staging import Value

__all__ = ["SHOWN", "THREADS", "Copied", "Copying"]

SHOWN = 5
THREADS = 8


class Copied(msgspec.Struct):
    """How many objects of how many bytes came, how many paths were left out, and some of those."""

    stored: int = 0
    bytes: int = 0
    unfit: int = 0
    shown: list[str] = []

    def add(self, more: Copied) -> None:
        """Counts what others have copied, too."""
        self.stored += more.stored
        self.bytes += more.bytes
        self.unfit += more.unfit
        self.shown = [*self.shown, *more.shown][:SHOWN]


class Copying:
    """Copies a repository's objects to a place. With `leave_unfit`, paths that the place cannot
    have are passed over.
    """

    def __init__(
        self,
        destination: Destination,
        repository: Repository,
        blocks: BlockStore,
        *,
        leave_unfit: bool,
    ) -> None:
        self._destination = destination
        self._repository = repository
        self._blocks = blocks
        self._leave_unfit = leave_unfit

    def store(self, pool: ThreadPoolExecutor, records: Iterable[tuple[bytes, Value]]) -> Copied:
        """Stores objects, durably.

        Raises Invalid (`UNFIT`), Corrupt where bytes are not those that were stored, Gone where
        they are lost.
        """
        done = Copied()
        for size, refused in pool.map(self._store, records):
            if refused is None:
                done.stored += 1
                done.bytes += size
            else:
                done.unfit += 1
                if len(done.shown) < SHOWN:
                    done.shown.append(refused)
        self._destination.settle()
        return done

    def _store(self, record: tuple[bytes, Value]) -> tuple[int, str | None]:
        key, value = record
        path, entry = path_of(key), entry_from(value)
        if path == STATE:
            raise Invalid(
                f"{path!r} is the name of an export's own file", kind=UNFIT, hint="Rename it."
            )
        try:
            stored = self._destination.store(
                path, OpenObject(self._repository, entry, self._blocks)
            )
        except AnabranchError as error:
            if error.kind == UNFIT and self._leave_unfit:
                return 0, error.message
            raise
        expected = md5_of(entry.checksum)
        if stored.size != entry.size or (expected is not None and stored.checksum != expected):
            raise Corrupt(
                f"{path}: {stored.size} bytes with the MD5 {stored.checksum} came, "
                f"{entry.size} bytes with {entry.checksum} were stored",
                path=path,
            )
        return stored.size, None
