"""Reads of bytes that others may replace: objects of an image that belong to no repository.

Their entries have the ETag of the bytes when the image was built. It is compared with the store's
before the bytes are read and again before the last chunk is returned, so that a replaced object is
an error and never other content.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone, NotFound
from anabranch.model.image import PINNED
from anabranch.model.objects.entry import AddressType, Entry

__all__ = ["PinnedRead", "pinned_etag", "verify_etag"]


def pinned_etag(entry: Entry) -> str:
    """Returns the ETag that an entry's bytes must have, "" for bytes that never change."""
    if entry.address_type != AddressType.FULL:
        return ""
    return entry.metadata.get(PINNED, "")


class PinnedRead:
    """A read of the object at an address that fails unless it has the given ETag."""

    def __init__(self, blocks: BlockStore, address: str, etag: str) -> None:
        self._blocks = blocks
        self._address = address
        self._etag = etag

    def check(self) -> None:
        """Raises Gone if the object has another ETag or does not exist."""
        sources = self._blocks.sources
        try:
            info = None if sources is None else sources.find(self._address)
        except NotFound:
            info = None
        if info is None:
            raise Gone(
                f"{self._address}: the object that the image pins was deleted",
                kind="source_removed",
                hint="Restore the object, or build a new image without it.",
            )
        if info.checksum != self._etag:
            raise Gone(
                f"{self._address}: the object was replaced: the image pins the ETag "
                f"{self._etag}, the store has {info.checksum}",
                kind="source_replaced",
                hint="Build a new image to read the current object.",
            )

    def get(self, start: int, length: int) -> Iterator[bytes]:
        """Yields chunks as the store does. Raises Gone, before the last chunk at the latest."""
        self.check()
        return self._hold_back_last(self._blocks.get(self._address, start, length))

    def read(self, start: int, length: int) -> bytes:
        """Returns bytes as the store does. Raises Gone."""
        self.check()
        data = self._blocks.read(self._address, start, length)
        self.check()
        return data

    def _hold_back_last(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        held = b""
        for piece in pieces:
            if held:
                yield held
            held = piece
        self.check()
        if held:
            yield held


@contextmanager
def verify_etag(blocks: BlockStore, address: str, etag: str) -> Iterator[None]:
    """Raises Gone unless the object at an address has the ETag before and after; "" matches any."""
    if not etag:
        yield
        return
    pinned = PinnedRead(blocks, address, etag)
    pinned.check()
    yield
    pinned.check()
