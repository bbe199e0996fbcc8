"""Copier of objects to a destination, which verifies the bytes that it copied."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import AnabranchError, Corrupt, Invalid
from anabranch.model.names import decode_key
from anabranch.model.repository import Repository
from anabranch.pipelines.exports.checksums import content_md5
from anabranch.pipelines.exports.destination import UNFIT, Destination
from anabranch.pipelines.exports.state import STATE
from anabranch.versioning.records.entries import Value, entry_from

__all__ = ["SHOWN", "THREADS", "Copied", "Copier"]

SHOWN = 5
THREADS = 8


class Copied(msgspec.Struct):
    """Numbers of objects and bytes that were copied and of paths that were left out, with the
    messages of the first of those.
    """

    stored: int = 0
    bytes: int = 0
    unfit: int = 0
    shown: list[str] = []

    def add(self, more: Copied) -> None:
        """Adds the counts of another copy."""
        self.stored += more.stored
        self.bytes += more.bytes
        self.unfit += more.unfit
        self.shown = [*self.shown, *more.shown][:SHOWN]


class Copier:
    """Copies a repository's objects to a destination. With `leave_unfit`, paths that are invalid
    there are left out.
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

        Raises Invalid (`UNFIT`), Corrupt if bytes differ from those that were stored, Gone if they
        are lost.
        """
        done = Copied()
        for size, rejection in pool.map(self._store, records):
            if rejection is None:
                done.stored += 1
                done.bytes += size
            else:
                done.unfit += 1
                if len(done.shown) < SHOWN:
                    done.shown.append(rejection)
        self._destination.sync()
        return done

    def _store(self, record: tuple[bytes, Value]) -> tuple[int, str | None]:
        key, value = record
        path, entry = decode_key(key), entry_from(value)
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
        expected = content_md5(entry.checksum)
        if stored.size != entry.size or (expected is not None and stored.checksum != expected):
            raise Corrupt(
                f"{path}: {stored.size} bytes with the MD5 {stored.checksum} came, "
                f"{entry.size} bytes with {entry.checksum} were stored",
                path=path,
            )
        return stored.size, None
