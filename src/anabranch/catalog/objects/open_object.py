"""An object that is open for reading."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from anabranch.blocks.checked_reads import CheckedReads
from anabranch.blocks.contract import BlockStore
from anabranch.catalog.objects.checked_bytes import checked_reads, require_bytes
from anabranch.catalog.objects.etag_pinned_reads import PinnedRead, pinned_etag
from anabranch.files.deferred_pieces import DeferredPieces
from anabranch.lake.object_file import ObjectFile
from anabranch.model.objects.entry import Entry, physical_address
from anabranch.model.repositories.repository import Repository

__all__ = ["OpenObject"]


class OpenObject(ObjectFile):
    """An entry and access to its bytes, also as a binary file that can be read and sought."""

    __slots__ = ("_blocks", "_repository", "entry")
    entry: Entry

    def __init__(self, repository: Repository, entry: Entry, blocks: BlockStore) -> None:
        self.entry = entry
        self._repository = repository
        self._blocks = blocks

    @property
    def repository(self) -> Repository:
        """The repository that has the entry."""
        return self._repository

    @property
    def physical_address(self) -> str:
        """The full address of the bytes."""
        return self._blocks.qualify(self._address)

    @property
    def byte_count(self) -> int:
        """The size that the entry states."""
        return self.entry.size

    def chunks(self, start: int = 0, length: int | None = None) -> Iterator[bytes]:
        """Returns `length` bytes from `start` on, by default all that follow, in chunks.

        The first iteration opens the data. Raises Gone before the first chunk if the data is lost
        or shorter than the entry says; before the last chunk if it is pinned to an ETag and was
        replaced.
        """
        byte_count = self.entry.size - start if length is None else length
        return DeferredPieces(partial(self._open, start, byte_count))

    def _open(self, start: int, byte_count: int) -> Iterator[bytes]:
        pinned = self._pinned_read()
        if pinned is not None:
            return pinned.get(start, byte_count)
        checked = self._checked_reads(start, byte_count)
        if checked is not None:
            return checked.get(self._address, byte_count, self.entry.checksum)
        return self._blocks.get(self._address, start, byte_count)

    def read_bytes(self, start: int = 0, length: int | None = None) -> bytes:
        """Returns the bytes that `chunks` yields as one string, for small objects."""
        byte_count = self.entry.size - start if length is None else length
        pinned = self._pinned_read()
        if pinned is not None:
            return pinned.read(start, byte_count)
        checked = self._checked_reads(start, byte_count)
        if checked is not None:
            return checked.read(self._address, byte_count, self.entry.checksum)
        return self._blocks.read(self._address, start, byte_count)

    def read_if_cached(self, start: int, length: int) -> bytes | None:
        """Returns the bytes if they are cached, so that reading does not block; None otherwise and
        after errors. Raises Gone if the bytes were found damaged before.
        """
        if self.pinned_etag:
            return None
        checked = self._checked_reads(start, length)
        if checked is not None:
            return checked.read_if_cached(self._address, length, self.entry.checksum)
        return self._blocks.read_if_cached(self._address, start, length)

    def storage_class(self) -> str | None:
        """Returns the class that the store has the bytes in, None if it has none. Raises Gone."""
        return self._blocks.storage_class(self._address)

    def require_bytes(self) -> None:
        """Raises Gone if the bytes are known to be lost or damaged."""
        require_bytes(self._blocks, self.entry, self._address)

    @property
    def pinned_etag(self) -> str:
        """The ETag that the bytes must have, "" for bytes that never change."""
        return pinned_etag(self.entry)

    def _pinned_read(self) -> PinnedRead | None:
        etag = self.pinned_etag
        if not etag:
            return None
        return PinnedRead(self._blocks, self._address, etag)

    def _checked_reads(self, start: int, length: int) -> CheckedReads | None:
        namespace = self._repository.storage_namespace
        return checked_reads(self._blocks, self.entry, namespace, start, length)

    @property
    def _address(self) -> str:
        entry = self.entry
        namespace = self._repository.storage_namespace
        return physical_address(namespace, entry.address, entry.address_type)
