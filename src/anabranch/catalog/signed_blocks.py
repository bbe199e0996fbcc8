"""What whoever has a URL of ours may do: read one block, or store one, or a part of an upload."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from anabranch.blocks.contract import BlockStore
from anabranch.catalog.block_urls import BlockUrls, Deed
from anabranch.catalog.pinned_reads import PinnedRead
from anabranch.errors import AlreadyExists, Gone

__all__ = ["OpenBlock", "SignedBlocks"]


class OpenBlock:
    """A block that may be read: its `size` in bytes and its `mtime` in seconds since 1970."""

    def __init__(
        self, blocks: BlockStore, address: str, size: int, mtime: int, etag: str = ""
    ) -> None:
        self.size = size
        self.mtime = mtime
        self._blocks = blocks
        self._address = address
        self._etag = etag

    def read(self, start: int, length: int) -> Iterator[bytes]:
        """Yields so many of its bytes, from `start` on. Raises Gone."""
        if self._etag:
            return PinnedRead(self._blocks, self._address, self._etag).get(start, length)
        return self._blocks.get(self._address, start, length)


class SignedBlocks:
    """The use cases of our own presigned URLs. Every one raises Denied unless the signature is
    that of a URL which permits the deed, and which has not expired.
    """

    def __init__(self, blocks: BlockStore, urls: BlockUrls) -> None:
        self._blocks = blocks
        self._urls = urls

    def open(self, deed: Deed, signature: str) -> OpenBlock:
        """Returns the block, to be read. Raises Gone."""
        self._urls.admit(deed, signature)
        found = self._blocks.stat(deed.address)
        if found is None:
            raise Gone("no data found")
        return OpenBlock(self._blocks, deed.address, found.size, found.mtime, deed.etag)

    def store(self, deed: Deed, signature: str, chunks: Iterable[bytes]) -> str:
        """Stores a block, or a part of an upload in parts, and returns its hex MD5.

        A block that is there stays as it is: who stores the same again is told the same. Raises
        AlreadyExists for anything else, and what `chunks` raises.
        """
        self._urls.admit(deed, signature)
        blocks = self._blocks
        if deed.part:
            return blocks.put_part(deed.address, deed.upload_id, deed.part, chunks).checksum
        if blocks.stat(deed.address) is None:
            return blocks.put(deed.address, chunks, create=True).checksum
        checksum = _md5(chunks)
        if checksum != _md5(blocks.get(deed.address)):
            raise AlreadyExists("something else has been stored here", kind="block_exists")
        return checksum


def _md5(pieces: Iterable[bytes]) -> str:
    digest = hashlib.md5(usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
