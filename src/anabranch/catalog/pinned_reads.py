"""Reads of bytes that others may replace: an image's objects which lie in no repository.

Such an entry keeps the ETag that its bytes had when the image was built. The store is asked for it
before the bytes are read and again before the last of them are handed on, so that nobody is ever
given other bytes, or a part of others, without being told: what was replaced is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from anabranch.blocks.contract import BlockStore
from anabranch.errors import Gone, NotFound
from anabranch.model.entry import AddressType, Entry
from anabranch.model.image import PINNED

__all__ = ["PinnedRead", "pinned_etag", "unreplaced"]


def pinned_etag(entry: Entry) -> str:
    """Returns the ETag that an entry's bytes must have, "" where they never change."""
    if entry.address_type != AddressType.FULL:
        return ""
    return entry.metadata.get(PINNED, "")


class PinnedRead:
    """A read of what lies at an address if it still has an ETag."""

    def __init__(self, blocks: BlockStore, address: str, etag: str) -> None:
        self._blocks = blocks
        self._address = address
        self._etag = etag

    def check(self) -> None:
        """Raises Gone where the store has another ETag, or nothing."""
        sources = self._blocks.sources
        try:
            found = None if sources is None else sources.find(self._address)
        except NotFound:
            found = None
        if found is None:
            raise Gone(
                f"{self._address}: the object that the image pins is not there any more",
                kind="source_removed",
                hint="Put it back, or build a new image without it.",
            )
        if found.checksum != self._etag:
            raise Gone(
                f"{self._address}: the object was replaced: the image pins the ETag "
                f"{self._etag}, the store has {found.checksum}",
                kind="source_replaced",
                hint="Build a new image to read what is there now.",
            )

    def get(self, start: int, length: int) -> Iterator[bytes]:
        """Yields bytes as the store does. Raises Gone, before the last piece at the latest."""
        self.check()
        return self._checked(self._blocks.get(self._address, start, length))

    def read(self, start: int, length: int) -> bytes:
        """Returns bytes as the store does. Raises Gone."""
        self.check()
        found = self._blocks.read(self._address, start, length)
        self.check()
        return found

    def _checked(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        held = b""
        for piece in pieces:
            if held:
                yield held
            held = piece
        self.check()
        if held:
            yield held


@contextmanager
def unreplaced(blocks: BlockStore, address: str, etag: str) -> Iterator[None]:
    """Raises Gone unless what lies at an address has the ETag before and after; "" is any."""
    if not etag:
        yield
        return
    pinned = PinnedRead(blocks, address, etag)
    pinned.check()
    yield
    pinned.check()
