"""Copier of objects to a destination, which verifies the bytes that it copied: their number, and
their MD5 if the object's checksum is proved to be that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import msgspec

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.open_object import OpenObject
from anabranch.errors import AnabranchError, Corrupt, Gone, Invalid
from anabranch.model.names import decode_key
from anabranch.model.objects.entry import Entry
from anabranch.model.repositories.repository import Repository
from anabranch.pipelines.exports.checksums import proved_md5
from anabranch.pipelines.exports.destination import INVALID_PATH, Destination
from anabranch.pipelines.exports.state import STATE
from anabranch.versioning.records.entries import Value, entry_from

__all__ = ["SHOWN", "THREADS", "Copied", "Copier"]

SHOWN = 5
THREADS = 8

_GROUP_OBJECTS = 16
_GROUP_BYTES = 1 << 20
"""What a thread is given at a time: giving it a small object takes a quarter of the copying."""

_GROUPS_PER_THREAD = 4


class Copied(msgspec.Struct):
    """Numbers of copied objects and bytes, and of skipped paths, with the messages of the first of
    those.
    """

    stored: int = 0
    bytes: int = 0
    invalid: int = 0
    shown: list[str] = []

    def add(self, more: Copied) -> None:
        """Adds the counts of another copy."""
        self.stored += more.stored
        self.bytes += more.bytes
        self.invalid += more.invalid
        self.shown = [*self.shown, *more.shown][:SHOWN]


class Copier:
    """Copies a repository's objects to a destination. If `skip_invalid`, paths that are invalid
    there are skipped.
    """

    def __init__(
        self,
        destination: Destination,
        repository: Repository,
        blocks: BlockStore,
        *,
        skip_invalid: bool,
    ) -> None:
        self._destination = destination
        self._repository = repository
        self._blocks = blocks
        self._skip_invalid = skip_invalid

    def store(self, pool: ThreadPoolExecutor, records: Sequence[tuple[bytes, Value]]) -> Copied:
        """Copies objects durably in the threads of a pool, and returns the counts.

        Raises Invalid (`INVALID_PATH`) for a path that is invalid at the destination, Corrupt if
        copied bytes differ from the stored ones, Gone if stored bytes are missing.
        """
        copied = Copied()
        groups = _groups(records)
        for size, rejection in chain.from_iterable(pool.map(self._store_group, groups)):
            if rejection is None:
                copied.stored += 1
                copied.bytes += size
            else:
                copied.invalid += 1
                if len(copied.shown) < SHOWN:
                    copied.shown.append(rejection)
        self._destination.sync()
        return copied

    def _store_group(self, group: Sequence[tuple[str, Entry]]) -> list[tuple[int, str | None]]:
        return [self._store(path, entry) for path, entry in group]

    def _store(self, path: str, entry: Entry) -> tuple[int, str | None]:
        if path == STATE:
            raise Invalid(
                f"{path!r} is reserved for the state of the export",
                kind=INVALID_PATH,
                hint="Rename it.",
            )
        try:
            stored = self._destination.store(
                path, OpenObject(self._repository, entry, self._blocks)
            )
        except AnabranchError as error:
            if error.kind == INVALID_PATH and self._skip_invalid:
                return 0, error.message
            if isinstance(error, Gone):
                message = f"{path}: {error.message}"
                raise Gone(message, kind=error.kind, hint=error.hint) from error
            raise
        expected = proved_md5(entry.checksum, entry.address)
        if stored.size != entry.size or (expected is not None and stored.checksum != expected):
            raise Corrupt(
                f"{path}: {stored.size} bytes with the MD5 {stored.checksum} were copied, "
                f"but the object has {entry.size} bytes with the checksum {entry.checksum}",
                path=path,
            )
        return stored.size, None


def _groups(records: Sequence[tuple[bytes, Value]]) -> Iterator[list[tuple[str, Entry]]]:
    """Yields paths and entries in groups of small objects; few objects are not grouped."""
    most = min(_GROUP_OBJECTS, len(records) // (_GROUPS_PER_THREAD * THREADS))
    group: list[tuple[str, Entry]] = []
    size = 0
    for key, value in records:
        entry = entry_from(value)
        group.append((decode_key(key), entry))
        size += entry.size
        if len(group) >= most or size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
